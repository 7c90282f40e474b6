package scenario

import "testing"

// Ids of seed-values rows and bugs stand in the names of the tests, so that
// `go test -run` finds a row by its id.

func Test_Seed1_quota_park_at_full_length(t *testing.T)   { transcript(t, "seed_quota_park") }
func Test_Seed2_payment_required(t *testing.T)            { transcript(t, "seed_402") }
func Test_Seed3_credit_budget(t *testing.T)               { transcript(t, "seed_credit_budget") }
func Test_O1_O2_O3_O5_O6_O7_O9_O10_park_cap(t *testing.T) { transcript(t, "o_park_cap") }
func Test_O11_O13_O14_O15_O17_O18_O19_O21_O22_O23_O25_O26_O27_cache(t *testing.T) {
	transcript(t, "o_cache")
}
func Test_O46_O47_O49_O50_O51_O53_O54_O55_O57_O58_O59_O61_O62_O63_O65_O66_O67_sticky(t *testing.T) {
	transcript(t, "o_sticky")
}
