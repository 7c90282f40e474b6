package engine

import (
	"fmt"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// BenchmarkDecide is one request: decide, record, outcome, record, with group
// commit into a store in memory.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{2, 10, 100} {
		b.Run(fmt.Sprintf("accounts=%d", n), func(b *testing.B) { benchmark(b, n, 1) })
	}
	b.Run("accounts=10/goroutines=64", func(b *testing.B) { benchmark(b, 10, 32) })
}

func benchmark(b *testing.B, accounts, perCPU int) {
	var ids []string
	for i := range accounts {
		ids = append(ids, fmt.Sprintf("a%03d", i))
	}
	w := open(b, ledgertest.NewMemory(), Options{}, ids...)
	doc := document(ids...)
	doc.Models[0].Strategy = events.StrategyBalanced
	if _, err := w.Adopt(b.Context(), enrolments(ids...), doc); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetParallelism(perCPU)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			a, _, err := w.Decide(b.Context(), Ask{Request: w.NewID(), Attempt: 1, Dialect: events.DialectOpenAI, Model: "m1"})
			if err != nil {
				b.Error(err)
				return
			}
			if err := a.Durable(b.Context()); err != nil {
				b.Error(err)
				return
			}
			a.Succeeded(events.Answer{Status: 200}, "stop")
		}
	})
	b.StopTimer()
	w.stop()
}
