package rebuild

import (
	"path/filepath"
	"testing"

	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/sqlite"
)

// BenchmarkRebuild reads, checks and folds 100,000 events from SQLite.
func BenchmarkRebuild(b *testing.B) {
	s, err := sqlite.Open(filepath.Join(b.TempDir(), "waybill.db"))
	if err != nil {
		b.Fatal(err)
	}
	const n = 100_000
	fill(b, s, n)
	log := ledger.Open(s)
	defer log.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := inquiry.Rebuild(b.Context(), log, inquiry.Moment{}, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
