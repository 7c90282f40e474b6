package ledgertest

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// BenchReads measures reading from a ledger of WAYBILL_BENCH_ROWS events
// [50000] over 1,000 accounts and thirty days: the two queries that people
// wait for, a bare scan, one with the chain checked, and one that decodes.
//
//	request-p99-us   one request's events by its id
//	day-p99-us       one account's events of one day
//	scan/s           rows per second, nothing done with them
//	verify/s         rows per second, chain checked
//	decode/s         events per second
func BenchReads(b *testing.B, open func(dir string) (ledger.Store, error)) {
	rows := 50_000
	if v := os.Getenv("WAYBILL_BENCH_ROWS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			b.Fatal(err)
		}
		rows = n
	}
	s, err := open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := LoadReads(b, s, rows)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(r.Requests().P99, "request-p99-us")
	b.ReportMetric(r.Days(rows/30).P99, "day-p99-us")
	b.ReportMetric(r.rate(func(*ledger.Row) error { return nil }), "scan/s")
	check := ledger.NewChecker(ledger.Head{})
	b.ReportMetric(r.rate(func(row *ledger.Row) error {
		if f := check.Next(row, row.ContentHash()); f != nil {
			return f
		}
		return nil
	}), "verify/s")
	var codec events.Codec
	b.ReportMetric(r.rate(func(row *ledger.Row) error {
		_, err := codec.Open(&row.Record)
		return err
	}), "decode/s")
}

// Reads is a ledger that is filled to be read from.
type Reads struct {
	tb    testing.TB
	store ledger.Store
	rows  int
	some  []ledger.Row // one of each thousand, without payloads
}

// Took is how long a query took, in microseconds.
type Took struct{ Median, P99 float64 }

// LoadReads appends rows events, a multiple of 1,000, over 1,000 accounts.
func LoadReads(tb testing.TB, store ledger.Store, rows int) *Reads {
	tb.Helper()
	r := &Reads{tb: tb, store: store}
	g := NewMaker()
	g.Accounts = 1000
	for r.rows < rows {
		batch := g.Records(1000)
		res, err := store.Commit(context.Background(), batch)
		if err != nil {
			tb.Fatal(err)
		}
		r.rows += len(batch)
		pick := &batch[r.rows/1000%1000]
		at := res[r.rows/1000%1000]
		row := ledger.Row{Record: *pick, Position: at.Position, RecordedAt: at.RecordedAt}
		row.Payload = nil
		r.some = append(r.some, row)
	}
	return r
}

// time runs a query for up to a thousand picks of the sample.
func (r *Reads) time(query func(*ledger.Row) error) Took {
	took := make([]float64, min(1000, 10*len(r.some)))
	for i := range took {
		pick := &r.some[i*7919%len(r.some)]
		start := time.Now()
		if err := query(pick); err != nil {
			r.tb.Fatal(err)
		}
		took[i] = float64(time.Since(start).Nanoseconds()) / 1000
	}
	slices.Sort(took)
	return Took{took[len(took)/2], took[len(took)*99/100]}
}

func (r *Reads) count(after events.Position, f ledger.Filter) (n int, err error) {
	err = r.store.Scan(context.Background(), after, f, 0, func(*ledger.Row) error { n++; return nil })
	return n, err
}

// Requests times one request's events by its id.
func (r *Reads) Requests() Took {
	return r.time(func(row *ledger.Row) error {
		n, err := r.count(0, ledger.Filter{Request: row.Request})
		if n == 0 || row.Request == uuid.Nil {
			r.tb.Errorf("request %s has no events", row.Request)
		}
		return err
	})
}

// Days times one account's events in the time in which a number of events of
// all accounts were recorded.
func (r *Reads) Days(span int) Took {
	return r.time(func(row *ledger.Row) error {
		end := min(int(row.Position/1000)+max(1, span/1000), len(r.some)-1)
		until := max(r.some[end].RecordedAt, row.RecordedAt+1)
		_, err := r.count(0, ledger.Filter{Account: row.Account, Since: row.RecordedAt, Until: until})
		return err
	})
}

func (r *Reads) rate(fn func(*ledger.Row) error) float64 {
	start := time.Now()
	if err := r.store.Scan(context.Background(), 0, ledger.Filter{}, 0, fn); err != nil {
		r.tb.Fatal(err)
	}
	return float64(r.rows) / time.Since(start).Seconds()
}
