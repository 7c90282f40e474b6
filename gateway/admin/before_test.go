package admin_test

import "testing"

// The first instant of 1970 and the year 1 are instants like others: what is
// asked of them is not asked of now.
func TestBeforeTheLedgerThereIsNothing(t *testing.T) {
	a := open(t, "")
	for _, at := range []string{"1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1600-01-01T00:00:00Z"} {
		for _, path := range []string{"/accounts?at=", "/requests?at=", "/events?at=", "/usage?at=", "/requests?until=", "/events?until=", "/usage?until="} {
			if got := a.get(path + at)["data"].([]any); len(got) != 0 {
				t.Errorf("%s%s: %d", path, at, len(got))
			}
		}
		if got := a.get("/ledger?at=" + at)["position"]; got != 0.0 {
			t.Errorf("the ledger at %s: %v", at, got)
		}
	}
}
