package engine

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

func TestALedgerThatIsNotWhatItWasStopsTheReplica(t *testing.T) {
	rows := map[string]func(s *ledgertest.Spoiled, next events.Position){
		"an event is missing": func(s *ledgertest.Spoiled, next events.Position) { s.Hole.Store(uint64(next)) },
		"the head went back":  func(s *ledgertest.Spoiled, _ events.Position) { s.Back.Store(1) },
	}
	for name, spoil := range rows {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &ledgertest.Spoiled{Memory: ledgertest.NewMemory()}
				log := ledger.OpenWith(store, ledger.Options{})
				e, err := Open(t.Context(), Options{Log: log, Accounts: enrolments("a"), Document: document("a"), Strict: true})
				if err != nil {
					t.Fatal(err)
				}
				other := ledger.Open(store.Memory) // another replica, which sees no fault
				append2 := func() {
					if _, err := other.Append(t.Context(), ledgertest.NewMaker().Drafts(2)...); err != nil {
						t.Fatal(err)
					}
				}
				spoil(store, e.Position()+1)
				append2()
				time.Sleep(time.Second) // of the bubble: a few polls
				select {
				case <-e.Broken():
				default:
					t.Fatal("it goes on")
				}
				store.Hole.Store(0)
				store.Back.Store(0)
				append2()
				time.Sleep(time.Minute)
				e.commit(nil) // what had been read before may still be folded
				if err := e.LedgerError(); !errors.Is(err, ledger.ErrBroken) {
					t.Errorf("it has healed: %v", err)
				}
				if err := errors.Join(e.Close(t.Context()), log.Close(), other.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAPlaceThatIsTakenIsNoOutage: what a commit says is broken will not pass,
// so it is not waited for; what could not be appended stays in the spool.
func TestAPlaceThatIsTakenIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, disk := ledgertest.NewMemory(), ledgertest.NewMemory()
		w := openSpooling(t, store, disk, 1<<20, "a")
		w.serve()
		store.FailBefore(slices.Repeat([]error{ledger.ErrBroken}, 1000)...)
		w.decide(w.ask())
		time.Sleep(time.Minute) // of the bubble
		select {
		case <-w.Broken():
		default:
			t.Error("it goes on")
		}
		if disk.Size() == 0 {
			t.Error("what could not be appended is kept nowhere")
		}
		w.kill()
	})
}
