package rebuild

import (
	"testing"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// queried is what one store showed, in microseconds.
type queried struct {
	Prove   string  `json:"prove"`
	Store   string  `json:"store"`
	Events  int     `json:"events"`
	Request float64 `json:"request_p99_us"`
	Day     float64 `json:"account_day_p99_us"`
	Small   int     `json:"small_events"`
	OfSmall float64 `json:"request_of_small"` // the median, against that over the small ledger
	DaySame float64 `json:"account_day_of_small"`
	Seed    int     `json:"seed"`
}

// TestProveQueries: one request by its id, and one account's day, over many
// rows and over few. In its short form it is the rows found that count.
func TestProveQueries(t *testing.T) {
	n, long := asked(t, 10_000)
	small := min(n, 50_000)
	for name, open := range stores {
		store, fewer := opened(t, open), opened(t, open)
		r, s := ledgertest.LoadReads(t, store, n), ledgertest.LoadReads(t, fewer, small)
		q := queried{Prove: "queries", Store: name, Events: n, Small: small, Seed: 1}
		big, little := r.Requests(), s.Requests()
		q.Request, q.OfSmall = big.P99, big.Median/little.Median
		q.Day = r.Days(n / 30).P99
		big, little = r.Days(small/30), s.Days(small/30)
		q.DaySame = big.Median / little.Median
		print(t, &q)
		if long && (q.Request > 2000 || q.Day > 20_000) {
			t.Errorf("%s: p99 %.0f and %.0f us", name, q.Request, q.Day)
		}
		if long && (q.OfSmall > 1.5 || q.DaySame > 1.5) {
			t.Errorf("%s: a request takes %.2f times what it takes over %d events, an account's day %.2f times", name, q.OfSmall, small, q.DaySame)
		}
		for _, st := range []ledger.Store{store, fewer} {
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
