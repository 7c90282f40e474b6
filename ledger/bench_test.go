package ledger_test

import (
	"context"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// null is a store that takes everything in no time.
type null struct {
	ledger.Store
	at events.Position
}

func (s *null) Commit(_ context.Context, batch []events.Record) ([]ledger.Result, error) {
	out := make([]ledger.Result, len(batch))
	for i := range out {
		s.at++
		out[i] = ledger.Result{Position: s.at, RecordedAt: events.Time(s.at)}
	}
	return out, nil
}

func (s *null) Close() error { return nil }

// BenchmarkAppend is what the log itself costs: one event that somebody waits
// for, with nothing behind it.
func BenchmarkAppend(b *testing.B) {
	l := ledger.Open(&null{})
	defer l.Close()
	d := ledgertest.NewMaker().Drafts(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Append(context.Background(), d...); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendTogether is the same with 64 that wait at a time.
func BenchmarkAppendTogether(b *testing.B) {
	l := ledger.Open(&null{})
	defer l.Close()
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		d := ledgertest.NewMaker().Drafts(1)
		for pb.Next() {
			if _, err := l.Append(context.Background(), d...); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkSubmitBehind is what a writer that does not wait pays.
func BenchmarkSubmitBehind(b *testing.B) {
	l := ledger.OpenWith(&null{}, ledger.Options{Queue: 1 << 30})
	defer l.Close()
	d := ledgertest.NewMaker().Drafts(1)
	b.ReportAllocs()
	for b.Loop() {
		l.Submit(ledger.Behind, d...)
	}
}
