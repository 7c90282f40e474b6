package engine

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
	"github.com/waybill/waybill/projections/audit"
)

var errAway = errors.New("connection refused")

// spooling is a world whose gateway has a spool in memory.
type spooling struct {
	*world
	disk *ledgertest.Memory
	sp   *spool.Spool
}

func openSpooling(t testing.TB, store, disk *ledgertest.Memory, maxBytes int64, ids ...string) *spooling {
	t.Helper()
	sp, err := spool.Open(t.Context(), disk, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	log := ledger.OpenWith(polled{store}, ledger.Options{Retries: 1, Backoff: time.Millisecond})
	return &spooling{world: open(t, store, Options{Spool: sp, Log: log}, ids...), disk: disk, sp: sp}
}

func (w *spooling) stop() {
	w.t.Helper()
	w.world.stop()
	if err := w.sp.Close(); err != nil {
		w.t.Error(err)
	}
}

// polled is a store whose followers look for themselves, as those of a shared
// one do.
type polled struct{ *ledgertest.Memory }

// Watch implements ledger.Shared.
func (polled) Watch(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}

// kill leaves everything as a process that is killed does.
func (w *spooling) kill() {
	w.t.Helper()
	w.Engine.stop()
	_ = w.disk.Close() // what is not in it by now never will be
	_ = w.store.Close()
	_ = w.sp.Close()
	_ = w.log.Close()
	w.end()
	w.disk.Reopen()
	w.store.Reopen()
}

// away takes the ledger away until the returned function is called.
func (w *spooling) away() (back func()) {
	w.store.FailBefore(slices.Repeat([]error{errAway}, 100_000)...)
	return w.store.Heal
}

// serve is one request from beginning to end; the client must see no error.
func (w *spooling) serve() uuid.UUID {
	w.t.Helper()
	ask := w.ask()
	a := w.decide(ask)
	if err := a.Durable(w.t.Context()); err != nil {
		w.t.Fatalf("a request was not served: %v", err)
	}
	a.Succeeded(events.Answer{Status: 200}, "stop")
	return ask.Request
}

// decisions counts the decisions of each request in the ledger.
func decisions(t testing.TB, store *ledgertest.Memory) map[uuid.UUID]int {
	t.Helper()
	n := map[uuid.UUID]int{}
	for _, e := range all(t, store) {
		if e.Data.Kind() == events.KindAttemptRouted {
			n[e.Request]++
		}
	}
	return n
}

// rederived derives every decision of a ledger again.
func rederived(t testing.TB, store *ledgertest.Memory) audit.Report {
	t.Helper()
	auditor := audit.New(audit.Options{})
	for _, e := range all(t, store) {
		if err := auditor.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	r := auditor.Report()
	if len(r.Faults) > 0 {
		t.Fatalf("a decision is not derived again: %+v", r.Faults[0])
	}
	return r
}

func TestWhileTheLedgerIsAwayRequestsAreServedFromTheSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		served := []uuid.UUID{w.serve()}
		seen := make(chan Outage, 2)
		go func() {
			for _, away := range []bool{true, false} {
				o, err := w.AwaitOutage(t.Context(), away)
				if err != nil {
					t.Error(err)
				}
				seen <- o
			}
		}()
		back := w.away()
		for range 50 {
			served = append(served, w.serve())
		}
		if o := <-seen; o.Cause == nil {
			t.Errorf("the beginning: %+v", o)
		}
		o, away := w.Outage()
		if !away || o.Err != nil || o.Events != 101 || o.Bytes == 0 {
			t.Errorf("outage %v: %+v", away, o)
		}
		if err := w.Ready(); err != nil {
			t.Errorf("not ready while spooling: %v", err)
		}
		if n := len(decisions(t, w.store)); n != 1 {
			t.Errorf("%d decisions reached a ledger that is away", n)
		}
		back()
		time.Sleep(time.Minute)
		if _, away := w.Outage(); away {
			t.Error("the outage did not end")
		}
		if o := <-seen; o.Cause != nil || o.Events != 0 {
			t.Errorf("the end: %+v", o)
		}
		if n := w.disk.Size(); n != 0 {
			t.Errorf("the spool still takes %d bytes", n)
		}
		served = append(served, w.serve())
		w.stop()
		got := decisions(t, w.store)
		for _, id := range served {
			if got[id] != 1 {
				t.Errorf("request %s has %d decisions", id, got[id])
			}
		}
		if r := rederived(t, w.store); r.Rederived != 52 {
			t.Errorf("%d decisions derived again", r.Rederived)
		}
	})
}

func TestARequestThatWaitsWhenTheOutageBeginsIsServed(t *testing.T) {
	outages := []struct {
		name  string
		begin func(*spooling) (back func())
	}{
		{"the ledger refuses", (*spooling).away},
		{"the ledger hangs", func(w *spooling) func() { return w.store.Hold() }},
		{"the ledger commits and does not say so", func(w *spooling) func() {
			w.store.FailAfter(slices.Repeat([]error{errAway}, 100_000)...)
			return w.store.Heal
		}},
	}
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
				back := o.begin(w)
				first, second := w.decide(w.ask()), w.decide(w.ask())
				for _, a := range []*Attempt{first, second} {
					if err := a.Durable(t.Context()); err != nil {
						t.Fatalf("durable: %v", err)
					}
				}
				second.Succeeded(events.Answer{}, "stop")
				w.serve()
				back()
				first.Failed(events.Failure{Class: events.ClassServerError})
				time.Sleep(time.Minute)
				if n := w.Unsettled(); n != 0 {
					t.Errorf("%d events are not in the ledger", n)
				}
				w.stop()
				for id, n := range decisions(t, w.store) {
					if n != 1 {
						t.Errorf("request %s has %d decisions", id, n)
					}
				}
				if r := rederived(t, w.store); r.Rederived != 3 {
					t.Errorf("%d decisions", r.Rederived)
				}
				if w.disk.Size() != 0 {
					t.Error("the spool was not emptied")
				}
			})
		})
	}
}

func TestAFullSpoolRefusesNewRequestsAndTakesTheOutcomesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 16<<10, "a")
		back := w.away()
		var running []*Attempt
		for range 1000 {
			a, _, err := w.Decide(t.Context(), w.ask())
			if errors.Is(err, ErrLedger) && errors.Is(err, spool.ErrFull) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Durable(t.Context()); err != nil {
				t.Fatal(err)
			}
			running = append(running, a)
		}
		if n := len(running); n == 0 || n == 1000 {
			t.Fatalf("%d requests were taken", n)
		}
		if w.Ready() == nil {
			t.Error("ready with a full spool")
		}
		for _, a := range running {
			a.Succeeded(events.Answer{Status: 200}, "stop")
		}
		time.Sleep(time.Second)
		if h, err := w.disk.Head(t.Context()); err != nil || int(h.Position) < 2*len(running) {
			t.Errorf("%d rows for %d requests with their outcomes (%v)", h.Position, len(running), err)
		}
		back()
		time.Sleep(time.Minute)
		w.serve()
		w.stop()
		rederived(t, w.store)
	})
}

func TestASpoolThatFailsRefusesAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		running := w.decide(w.ask())
		if err := running.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		back := w.away()
		w.disk.FailBefore(slices.Repeat([]error{errors.New("disk full")}, 100_000)...)
		a := w.decide(w.ask())
		if err := a.Durable(t.Context()); !errors.Is(err, ErrLedger) {
			t.Errorf("durable: %v", err)
		}
		a.Failed(events.Failure{Class: events.ClassClientAborted})
		if _, _, err := w.Decide(t.Context(), w.ask()); !errors.Is(err, ErrLedger) {
			t.Errorf("decide: %v", err)
		}
		running.Succeeded(events.Answer{Status: 200}, "stop")
		w.disk.Heal() // somebody made room: the ledger is still away
		time.Sleep(10 * time.Second)
		w.serve()
		w.disk.FailBefore(slices.Repeat([]error{errors.New("disk full")}, 10)...)
		w.decide(w.ask()).Failed(events.Failure{Class: events.ClassClientAborted})
		back() // the ledger is back before the spool is
		time.Sleep(time.Minute)
		w.disk.Heal()
		w.serve()
		back = w.away()
		w.serve()
		back()
		time.Sleep(time.Minute)
		w.stop()
		if r := rederived(t, w.store); r.Rederived != 6 {
			t.Errorf("%d decisions", r.Rederived)
		}
	})
}

func TestWhatWasCommittedUnsaidAndIsSeenMeanwhileHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		w.store.FailAfter(slices.Repeat([]error{errAway}, 100_000)...)
		w.serve()
		time.Sleep(time.Minute) // followers read what no commit has told
		w.store.Heal()
		w.serve()
		time.Sleep(time.Minute)
		if o, away := w.Outage(); away {
			t.Errorf("the outage did not end: %+v", o)
		}
		w.stop()
		rederived(t, w.store)
	})
}

func TestTheSpoolIsNotEmptiedWhileItIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		back := w.away()
		w.serve()
		synctest.Wait()
		before := w.disk.Size()
		w.emptySpool()
		if after := w.disk.Size(); after < before || after == 0 {
			t.Errorf("%d bytes of %d are left", after, before)
		}
		back()
		time.Sleep(time.Minute)
		w.stop()
	})
}

func TestWhatIsNoDecisionIsSpooledToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a", "b")
		back := w.away()
		evs, err := w.Append(t.Context(), events.Draft{Header: events.Header{Account: "a"}, Data: &events.OperatorDrained{OperatorAction: events.OperatorAction{Actor: "me", Reason: "test"}}})
		if err != nil || len(evs) != 1 || evs[0].Position != 0 || evs[0].WriterSeq == 0 {
			t.Fatalf("%+v %v", evs, err)
		}
		if a := w.decide(w.ask()); a.Account.ID != "b" {
			t.Errorf("%s serves though it is drained", a.Account.ID)
		} else {
			a.Succeeded(events.Answer{}, "stop")
		}
		doc := document("a", "b", "c")
		if n, err := w.Adopt(t.Context(), enrolments("a", "b", "c"), doc); err != nil || n != 2 {
			t.Errorf("adopt: %d %v", n, err)
		}
		w.serve()
		back()
		time.Sleep(time.Minute)
		w.stop()
		rederived(t, w.store)
	})
}
