package archive_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
)

func TestAnArchiveThatCannotBeReadBackRemovesNothing(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"a byte changed": func(t *testing.T, path string) {
			ledgertest.Edit(t, path, func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		},
		"its end lost": func(t *testing.T, path string) {
			ledgertest.Edit(t, path, func(b []byte) []byte { return b[:len(b)-9] })
		},
		"it is gone": func(t *testing.T, path string) { ledgertest.Edit(t, path, nil) },
	} {
		for _, suffix := range []string{".jsonl.zst", ".json"} {
			t.Run(name+" "+suffix, func(t *testing.T) {
				s, err := sqlite.Open(filepath.Join(t.TempDir(), "w.db"))
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if _, err := s.Commit(t.Context(), ledgertest.NewMaker().Records(900)); err != nil {
					t.Fatal(err)
				}
				o := archive.Options{Dir: t.TempDir(), Size: 500, Now: time.Now}
				o.Step = func(step string) error {
					if files, _ := filepath.Glob(filepath.Join(o.Dir, "ledger-*"+suffix)); step == "verify" && len(files) == 1 {
						spoil(t, files[0])
					}
					return nil
				}
				if done, err := archive.Run(t.Context(), s, o); err == nil || len(done) > 0 {
					t.Errorf("archived all the same: %+v", done)
				}
				if v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{}); err != nil || v.Fault != nil || v.Positions != 900 {
					t.Errorf("the ledger: %+v %v", v, err)
				}
				o.Step = nil
				if done, err := archive.Run(t.Context(), s, o); err != nil || len(done) != 1 {
					t.Errorf("again: %+v %v", done, err)
				}
			})
		}
	}
}

func TestAScanMayBeOvertakenByArchivingAgainAndAgain(t *testing.T) {
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "w.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	g := ledgertest.NewMaker()
	for range 9 {
		if _, err := s.Commit(t.Context(), g.Records(1000)); err != nil {
			t.Fatal(err)
		}
	}
	o := archive.Options{Dir: t.TempDir(), Size: 500, Now: time.Now}
	seen := events.Position(0)
	err = archive.Over(s, archive.NewPast()).Scan(t.Context(), 0, ledger.Filter{}, 0, func(r *ledger.Row) error {
		if r.Position != seen+1 {
			t.Fatalf("%d follows %d", r.Position, seen)
		}
		seen = r.Position
		if r.Position%1100 != 1 {
			return nil
		}
		o.To = min(8500, r.Position/500*500+3000)
		_, err := archive.Run(t.Context(), s, o)
		return err
	})
	if err != nil || seen != 9000 {
		t.Errorf("it ends after %d: %v", seen, err)
	}
}

// BenchmarkRun is events archived per second: written, read back, compared,
// removed.
func BenchmarkRun(b *testing.B) {
	const n = 50_000
	for b.Loop() {
		b.StopTimer()
		s, err := sqlite.Open(filepath.Join(b.TempDir(), "w.db"))
		if err != nil {
			b.Fatal(err)
		}
		g := ledgertest.NewMaker()
		for range n/1000 + 1 {
			if _, err := s.Commit(b.Context(), g.Records(1000)); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if _, err := archive.Run(b.Context(), s, archive.Options{Dir: b.TempDir(), Size: n, Now: time.Now}); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
