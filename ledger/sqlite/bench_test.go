package sqlite_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
)

func BenchmarkStore(b *testing.B) {
	ledgertest.Bench(b, func(dir string) (ledger.Store, error) { return sqlite.Open(filepath.Join(dir, "waybill.db")) })
}

func BenchmarkReads(b *testing.B) {
	ledgertest.BenchReads(b, func(dir string) (ledger.Store, error) { return sqlite.Open(filepath.Join(dir, "waybill.db")) })
}

// BenchmarkCommit is one commit of as many events as wait for it with one and
// with 64 connections (docs/performance.md). Its time is that of the flush;
// what must not grow is the processor time.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 50} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			s, err := sqlite.Open(filepath.Join(b.TempDir(), "waybill.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			maker := ledgertest.NewMaker()
			b.ReportAllocs()
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				batch := maker.Records(n)
				before := processorTime()
				b.StartTimer()
				if _, err := s.Commit(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				used += processorTime() - before
			}
			b.ReportMetric(float64(used.Microseconds())/float64(b.N*n), "cpu-us/event")
		})
	}
}

// processorTime is what this process has used, of user and system time.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
