package engine

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/spool"
)

func TestAKilledProcessesSpoolIsAppendedByTheNextBeforeItsAttemptsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, disk := ledgertest.NewMemory(), ledgertest.NewMemory()
		w := openSpooling(t, store, disk, 1<<20, "a")
		before := w.decide(w.ask()) // its decision is in the ledger, its end in the spool
		if err := before.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		back := w.away()
		served := w.serve()
		before.Succeeded(events.Answer{Status: 200}, "stop")
		open := w.decide(w.ask())
		if err := open.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.kill()
		back()
		next := openSpooling(t, store, disk, 1<<20, "a")
		if disk.Size() != 0 {
			t.Error("the spool was not emptied")
		}
		next.ids = 100
		next.serve()
		next.stop()
		var lost []uuid.UUID
		for _, e := range all(t, store) {
			if f, ok := events.FailureOf(e.Data); ok && f.Class == events.ClassLost {
				lost = append(lost, e.Request)
			}
		}
		if !slices.Equal(lost, []uuid.UUID{open.header.Request}) {
			t.Errorf("lost: %v, want only %v", lost, open.header.Request)
		}
		if n := decisions(t, store); n[served] != 1 || n[before.header.Request] != 1 || n[open.header.Request] != 1 {
			t.Errorf("decisions: %v", n)
		}
		rederived(t, store)
	})
}

func TestASpoolIsNeverAppendedToAnotherLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, disk := ledgertest.NewMemory(), ledgertest.NewMemory()
		w := openSpooling(t, store, disk, 1<<20, "a")
		w.away()
		w.serve()
		w.kill()
		for name, other := range map[string]*ledgertest.Memory{"empty": ledgertest.NewMemory(), "another": ledgertest.NewMemory()} {
			if name == "another" {
				open(t, other, Options{}, "a").stop()
				other.Reopen()
			}
			sp, err := spool.Open(t.Context(), disk.Reopen(), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			log := ledger.Open(other)
			before := len(all(t, other))
			if _, err := Open(t.Context(), Options{Log: log, Spool: sp}); !errors.Is(err, spool.ErrForeign) {
				t.Errorf("%s ledger: %v", name, err)
			}
			if after := len(all(t, other)); after != before {
				t.Errorf("%s ledger: %d events were appended", name, after-before)
			}
			_, _ = sp.Close(), log.Close()
		}
	})
}

func TestAnOutageIsOutlivedByAProcessThatStopsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, disk := ledgertest.NewMemory(), ledgertest.NewMemory()
		w := openSpooling(t, store, disk, 1<<20, "a")
		back := w.away()
		id := w.serve()
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = w.sp.Close()
		_ = w.log.Close()
		back()
		store.Reopen()
		disk.Reopen()
		next := openSpooling(t, store, disk, 1<<20, "a")
		next.stop()
		if n := decisions(t, store); n[id] != 1 {
			t.Errorf("%v", n)
		}
		rederived(t, store)
	})
}

// Whoever still decides while the engine ends begins nothing that it does not
// wait for.
func TestNothingIsBegunOnceTheEngineEnds(t *testing.T) {
	for range 5 {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		var ended, enough atomic.Bool
		var others sync.WaitGroup
		for range 2 {
			others.Go(func() {
				for !enough.Load() {
					w.mu.Lock()
					w.begin(func() {
						if ended.Load() {
							t.Error("something runs in an engine that has ended")
						}
					})
					w.mu.Unlock()
				}
			})
		}
		w.away()
		if a, _, err := w.Decide(t.Context(), w.ask()); err == nil {
			a.Succeeded(events.Answer{Status: 200}, "stop")
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		ended.Store(true)
		if _, _, err := w.Decide(t.Context(), w.ask()); err != nil && !errors.Is(err, ErrLedger) {
			t.Error(err)
		}
		enough.Store(true)
		others.Wait()
		_, _ = w.sp.Close(), w.log.Close()
	}
}
