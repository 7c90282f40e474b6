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
	return keptOn(t, ledgertest.NewMemory(), store, n)
}

func keptOn(t *testing.T, disk spool.Store, store ledger.Store, n int) (*spool.Spool, *ledger.Log, []events.Draft) {
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
	sp, err := spool.Open(t.Context(), disk, 1<<30)
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
			if n, err := sp.Replay(t.Context(), log); err != nil || n.Events != 2500 || n.Fault != nil {
				t.Fatalf("%s: %+v %v", name, n, err)
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
			t.Fatalf("%+v were appended to a ledger that is away", n)
		}
		if n, err := sp.Waiting(t.Context()); n != 2500 || err != nil {
			t.Errorf("%d wait, %v", n, err)
		}
		if n, err := sp.Replay(t.Context(), log); err != nil || n.Events != 2500 || n.Fault != nil {
			t.Fatalf("%+v %v", n, err)
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

// holed is a spool's disk from which rows were removed.
type holed struct {
	*ledgertest.Memory
	hole events.Position
}

func (h *holed) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	return h.Memory.Scan(ctx, after, f, limit, func(r *ledger.Row) error {
		if r.Position == h.hole {
			return nil
		}
		return fn(r)
	})
}

func TestWhatIsNotWhatWasSpooledIsNotAppended(t *testing.T) {
	const at = 700 // of the spool, whose first row is the mark
	for name, row := range map[string]struct {
		do   func(d *holed)
		kind string
	}{
		"a payload edited under its hash": {func(d *holed) {
			d.Tamper(at, func(r *ledger.Row) {
				r.Payload = append(r.Payload[:0:0], r.Payload...)
				r.Payload[len(r.Payload)-1] ^= 1
			})
		}, ledger.FaultChain},
		"a row removed": {func(d *holed) { d.hole = at }, ledger.FaultGap},
		"two rows swapped": {func(d *holed) {
			var a, b ledger.Row
			d.Tamper(at, func(r *ledger.Row) { a = *r })
			d.Tamper(at+1, func(r *ledger.Row) { b = *r; *r = a; r.Position = at + 1 })
			d.Tamper(at, func(r *ledger.Row) { *r = b; r.Position = at })
		}, ledger.FaultChain},
		"a count changed and every hash made right again": {func(d *holed) {
			var last events.Hash
			for p := events.Position(1); p <= 1501; p++ {
				d.Tamper(p, func(r *ledger.Row) {
					if p >= at {
						r.WriterSeq++
						r.Hash = events.Chain(last, r.Position, r.RecordedAt, r.ContentHash())
					}
					last = r.Hash
				})
			}
		}, ledger.FaultWriter},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := &holed{Memory: ledgertest.NewMemory()}
				sp, log, drafts := keptOn(t, disk, ledgertest.NewMemory(), 1500)
				row.do(disk)
				r, err := sp.Replay(t.Context(), log)
				if err != nil || r.Fault == nil || r.Fault.Position != at || r.Fault.Kind != row.kind || r.Events != at-2 || r.Lost != 1500-(at-2) {
					t.Fatalf("%+v %v %v", r, r.Fault, err)
				}
				same(t, ids(t, log), drafts[:at-2])
				if r.Aside == "" || len(disk.Aside()) != 1501 {
					t.Errorf("kept: %d rows in %q", len(disk.Aside()), r.Aside)
				}
				disk.hole = 0
				sp.Bind(drafts[0].ID)
				if _, err := sp.Submit(ledger.Awaited, drafts[at]).Wait(t.Context()); err != nil {
					t.Errorf("the spool takes nothing more: %v", err)
				}
				if err := errors.Join(sp.Close(), log.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
