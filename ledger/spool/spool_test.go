package spool_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/spool"
)

var _ spool.Store = (*ledgertest.Memory)(nil)

// shared is a ledger of many writers, some of whose locks are taken.
type shared struct {
	*ledgertest.Memory
	taken map[uuid.UUID]int // tries until the lock is free
	held  []uuid.UUID       // while fn runs
	most  int               // commits while a writer was held
}

func (s *shared) Hold(context.Context, uuid.UUID) error { return nil }

func (s *shared) TakeOver(ctx context.Context, w uuid.UUID, fn func(context.Context) error) (bool, error) {
	if s.taken[w] > 0 {
		s.taken[w]--
		return false, nil
	}
	s.held = append(s.held, w)
	before := s.Commits()
	err := fn(ctx)
	s.most = max(s.most, s.Commits()-before)
	return true, err
}

// kept is a spool that holds n events of a ledger, and the ledger.
func kept(t *testing.T, store ledger.Store, n int) (*spool.Spool, *ledger.Log, []events.Draft) {
	t.Helper()
	g := ledgertest.NewMaker()
	log := ledger.OpenWith(store, ledger.Options{Retries: 1, Backoff: time.Millisecond})
	if _, err := log.Append(t.Context(), g.Drafts(1)...); err != nil {
		t.Fatal(err)
	}
	id, err := ledger.Identity(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	sp, err := spool.Open(t.Context(), ledgertest.NewMemory(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	sp.Bind(id)
	drafts := g.Drafts(n)
	if _, err := sp.Submit(ledger.Awaited, drafts...).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sp, log, drafts
}

func ids(t *testing.T, log *ledger.Log) (out []uuid.UUID) {
	t.Helper()
	err := log.Each(t.Context(), 1, ledger.Filter{}, func(e *events.Event) error { out = append(out, e.ID); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, got []uuid.UUID, want []events.Draft) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(id uuid.UUID, d events.Draft) bool { return id == d.ID }) {
		t.Errorf("%d events in the ledger, want %d in their order", len(got), len(want))
	}
}

func TestTheDeadWriterIsHeldWhileItsSpoolIsAppended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tries := range map[string]int{"its lock is free": 0, "a sweeper has it for a second": 4, "the database has not noticed its end": 1 << 30} {
			store := &shared{Memory: ledgertest.NewMemory(), taken: map[uuid.UUID]int{}}
			sp, log, drafts := kept(t, store, 2500)
			writer := drafts[0].Writer
			store.taken[writer] = tries
			if n, err := sp.Replay(t.Context(), log); err != nil || n != 2500 {
				t.Fatalf("%s: %d %v", name, n, err)
			}
			same(t, ids(t, log), drafts)
			if free := tries < 1<<20; free && (!slices.Contains(store.held, writer) || store.most < 3) {
				t.Errorf("%s: held %v during %d commits", name, store.held, store.most)
			}
			if err := errors.Join(sp.Close(), log.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAReplayThatIsCutOffIsDoneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := ledgertest.NewMemory()
		sp, log, drafts := kept(t, store, 2500)
		store.FailAfter(errors.New("cut"), errors.New("cut"))
		if n, err := sp.Replay(t.Context(), log); err == nil {
			t.Fatalf("%d were appended to a ledger that is away", n)
		}
		if n, err := sp.Waiting(t.Context()); n != 2500 || err != nil {
			t.Errorf("%d wait, %v", n, err)
		}
		if n, err := sp.Replay(t.Context(), log); err != nil || n != 2500 {
			t.Fatalf("%d %v", n, err)
		}
		same(t, ids(t, log), drafts)
		if n, err := sp.Waiting(t.Context()); n != 0 || err != nil || sp.Size() != 0 {
			t.Errorf("%d wait still in %d bytes, %v", n, sp.Size(), err)
		}
		if err := errors.Join(sp.Close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
}

func TestASpoolThatWasNotBoundTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, err := spool.Open(t.Context(), ledgertest.NewMemory(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sp.Submit(ledger.Awaited, ledgertest.NewMaker().Drafts(1)...).Wait(t.Context()); err == nil {
			t.Error("nobody could say later which ledger these events are of")
		}
		if err := sp.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestARoomIsFullWhileAnEighthIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := ledgertest.NewMemory()
		sp, err := spool.Open(t.Context(), store, 80_000)
		if err != nil {
			t.Fatal(err)
		}
		sp.Bind(uuid.UUID{1})
		g := ledgertest.NewMaker()
		for sp.Room() == nil {
			if _, err := sp.Submit(ledger.Awaited, g.Drafts(1)...).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if size := sp.Size(); !errors.Is(sp.Room(), spool.ErrFull) || size < 70_000 || size > 72_000 {
			t.Errorf("full at %d bytes of 80000: %v", size, sp.Room())
		}
		if _, err := sp.Submit(ledger.Awaited, g.Drafts(1)...).Wait(t.Context()); err != nil {
			t.Errorf("an outcome found no room: %v", err)
		}
		if err := sp.Close(); err != nil {
			t.Error(err)
		}
	})
}
