package rebuild

import (
	"math"
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
		q.Request, q.OfSmall = inTurns(4*rounds, r.Requests, s.Requests)
		q.Day, _ = inTurns(rounds, func() ledgertest.Took { return r.Days(n / 30) })
		_, q.DaySame = inTurns(rounds, func() ledgertest.Took { return r.Days(small / 30) }, func() ledgertest.Took { return s.Days(small / 30) })
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

// rounds is how often a query over many rows is measured in turns with the same
// over few. The best of each counts: what else runs only makes it slower.
const rounds = 5

// inTurns is the 99th percentile of the first query, and its median over that
// of the second.
func inTurns(rounds int, queries ...func() ledgertest.Took) (p99, ratio float64) {
	best := make([]ledgertest.Took, len(queries))
	for i := range best {
		best[i] = ledgertest.Took{Median: math.Inf(1), P99: math.Inf(1)}
	}
	for range rounds {
		for i, query := range queries {
			took := query()
			best[i].Median, best[i].P99 = min(best[i].Median, took.Median), min(best[i].P99, took.P99)
		}
	}
	return best[0].P99, best[0].Median / best[len(best)-1].Median
}
