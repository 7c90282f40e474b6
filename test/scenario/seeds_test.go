package scenario

import "testing"

func TestSeedQuotaPark(t *testing.T) { transcript(t, "seed_quota_park") }
