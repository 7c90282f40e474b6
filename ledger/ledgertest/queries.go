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
	r := &reader{b: b, store: s}
	r.load(rows)
	request, day := r.requests(), r.days(events.Position(rows))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(request, "request-p99-us")
	b.ReportMetric(day, "day-p99-us")
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

type reader struct {
	b     *testing.B
	store ledger.Store
	rows  int
	some  []ledger.Row // a sample of rows, without payloads
}

func (r *reader) load(rows int) {
	g := NewMaker()
	g.Accounts = 1000
	for r.rows < rows {
		batch := g.Records(1000)
		res, err := r.store.Commit(context.Background(), batch)
		if err != nil {
			r.b.Fatal(err)
		}
		r.rows += len(batch)
		pick := &batch[r.rows/1000%1000]
		at := res[r.rows/1000%1000]
		row := ledger.Row{Record: *pick, Position: at.Position, RecordedAt: at.RecordedAt}
		row.Payload = nil
		r.some = append(r.some, row)
	}
}

// p99 runs a query for a thousand picks of the sample, in microseconds.
func (r *reader) p99(query func(*ledger.Row) error) float64 {
	took := make([]float64, 1000)
	for i := range took {
		pick := &r.some[i*7919%len(r.some)]
		start := time.Now()
		if err := query(pick); err != nil {
			r.b.Fatal(err)
		}
		took[i] = float64(time.Since(start).Microseconds())
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

func (r *reader) count(after events.Position, f ledger.Filter) (n int, err error) {
	err = r.store.Scan(context.Background(), after, f, 0, func(*ledger.Row) error { n++; return nil })
	return n, err
}

func (r *reader) requests() float64 {
	return r.p99(func(row *ledger.Row) error {
		n, err := r.count(0, ledger.Filter{Request: row.Request})
		if n == 0 || row.Request == uuid.Nil {
			r.b.Errorf("request %s has no events", row.Request)
		}
		return err
	})
}

// days reads a thirtieth of the ledger for one account, by time.
func (r *reader) days(head events.Position) float64 {
	rows := map[events.Position]events.Time{}
	for i := range r.some {
		rows[r.some[i].Position/1000] = r.some[i].RecordedAt
	}
	return r.p99(func(row *ledger.Row) error {
		until := rows[min(row.Position/1000+max(1, head/30/1000), head/1000-1)]
		_, err := r.count(0, ledger.Filter{Account: row.Account, Since: row.RecordedAt, Until: max(until, row.RecordedAt+1)})
		return err
	})
}

func (r *reader) rate(fn func(*ledger.Row) error) float64 {
	start := time.Now()
	if err := r.store.Scan(context.Background(), 0, ledger.Filter{}, 0, fn); err != nil {
		r.b.Fatal(err)
	}
	return float64(r.rows) / time.Since(start).Seconds()
}
