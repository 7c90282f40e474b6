package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// spent pushes a console's claim: the account's window is spent for days.
func (w *world) spent(account string) {
	w.t.Helper()
	now := w.Now()
	_, err := w.Append(w.t.Context(), events.Draft{Header: events.Header{Account: account}, Data: &events.QuotaFetched{Reading: events.Reading{
		Source: "push", Windows: []events.Window{{Name: "5h", Reached: events.Yes, ResetsAt: now.Add(72 * time.Hour), Reported: true}}}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func count(evs []events.Event, k events.Kind) (n int) {
	for i := range evs {
		if evs[i].Data.Kind() == k {
			n++
		}
	}
	return n
}

// due is a gateway with one account whose claim is due to be tested.
func due(t *testing.T, ids ...string) *world {
	w := open(t, ledgertest.NewMemory(), Options{}, ids...)
	w.spent("a")
	time.Sleep(31 * time.Minute)
	return w
}

func TestATrialIsClaimedDurablyBeforeItIsDispatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := due(t, "a")
		defer w.stop()
		a := w.decide(w.ask())
		evs := all(t, w.store)
		if n := count(evs, events.KindTrialClaimed); n != 1 || a.Decision.Trial == nil {
			t.Fatalf("%d claims in the ledger at dispatch, trial %+v", n, a.Decision.Trial)
		}
		if a.Stamp.View < evs[len(evs)-1].Position && evs[len(evs)-1].Data.Kind() == events.KindTrialClaimed {
			t.Errorf("decided at %d, claimed at %d", a.Stamp.View, evs[len(evs)-1].Position)
		}
		a.Passed(w.Now())
		a.Succeeded(events.Answer{Status: 200, DispatchedAt: w.Now()}, "stop")
		time.Sleep(time.Second) // of the bubble: outcomes are committed behind
		if n := count(all(t, w.store), events.KindTrialPassed); n != 1 {
			t.Errorf("%d trials passed", n)
		}
		if b := w.decide(w.ask()); b.Decision.Trial != nil {
			t.Error("the override does not hold")
		} else {
			b.Succeeded(events.Answer{}, "stop")
		}
	})
}

func TestTwentyAtTheInstantOfTheTrialMakeOneDispatchAndFollowItsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := due(t, "a")
		defer w.stop()
		var dispatched, early atomic.Int64
		var passed atomic.Bool
		var wg sync.WaitGroup
		for range 20 {
			ask := w.ask()
			wg.Go(func() {
				a, refusal, err := w.Decide(t.Context(), ask)
				if err != nil || a == nil {
					t.Errorf("%+v %v", refusal, err)
					return
				}
				dispatched.Add(1)
				if a.Decision.Trial != nil {
					time.Sleep(time.Second) // the upstream works
					passed.Store(true)
					a.Passed(w.Now())
				} else if !passed.Load() {
					early.Add(1)
				}
				a.Succeeded(events.Answer{Status: 200, DispatchedAt: w.Now()}, "stop")
			})
		}
		wg.Wait()
		evs := all(t, w.store)
		if dispatched.Load() != 20 || early.Load() != 0 {
			t.Errorf("%d dispatched, %d of them while the trial was in flight", dispatched.Load(), early.Load())
		}
		if n := count(evs, events.KindTrialClaimed); n != 1 {
			t.Errorf("%d claims", n)
		}
	})
}

func TestAFailedTrialLetsTheOthersGoElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := due(t, "a")
		defer w.stop()
		trial := w.decide(w.ask())
		answer := make(chan error, 1)
		ask := w.ask()
		go func() {
			_, refusal, err := w.Decide(t.Context(), ask)
			if refusal == nil || refusal.Code != "accounts_exhausted" {
				err = errors.Join(err, errors.New("not refused"))
			}
			answer <- err
		}()
		synctest.Wait()
		trial.Failed(events.Failure{Class: events.ClassWindowExhausted, Scope: events.Scope{Kind: events.ScopeAccount},
			Answer: events.Answer{Status: 429, DispatchedAt: w.Now()}})
		if err := <-answer; err != nil {
			t.Error(err)
		}
		trial.Passed(w.Now()) // a frame that comes after the end
		time.Sleep(time.Second)
		if n := count(all(t, w.store), events.KindTrialPassed); n != 0 {
			t.Errorf("%d trials passed", n)
		}
	})
}

func TestAClientThatLeavesGivesTheSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := due(t, "a")
		defer w.stop()
		release := w.store.Hold()
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		ask := w.ask()
		go func() {
			_, _, err := w.Decide(ctx, ask)
			left <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		release()
		synctest.Wait()
		time.Sleep(time.Second)
		next := w.decide(w.ask())
		if next.Decision.Trial == nil {
			t.Error("it is no trial")
		}
		next.Succeeded(events.Answer{Status: 200, DispatchedAt: w.Now()}, "stop")
		evs := kinds(all(t, w.store))
		i := slices.Index(evs, events.KindTrialClosed)
		if i < 0 || evs[i-1] != events.KindTrialClaimed {
			t.Errorf("%v", evs)
		}
	})
}

func TestTheNextStartClosesATrialThatWasClaimedAndNeverDispatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := due(t, "a")
		c := &claim{header: events.Header{Account: "a", Epoch: 1, Model: "m1", Request: w.ask().Request, Attempt: 1}}
		w.mu.Lock()
		_, err := w.record(0, events.Draft{Header: c.header, Data: &events.TrialClaimed{Trial: events.Trial{
			Cells: []events.Cell{{Axis: events.AxisWindow, Scope: events.Scope{Kind: events.ScopeAccount}}}, Step: 1, Lease: w.Now().Add(150 * time.Second)}}})
		w.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.kill()
		next := open(t, w.store.Reopen(), Options{}, "a")
		a := next.decide(next.ask()) // at once: the slot is free
		if a.Decision.Trial == nil {
			t.Error("it is no trial")
		}
		a.Succeeded(events.Answer{Status: 200, DispatchedAt: next.Now()}, "stop")
		next.stop()
	})
}

func TestThreeGatewaysOnOneLedgerMakeOneDispatchAtTheInstantOfTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := due(t, "a")
		gateways := []*world{first}
		for range 2 {
			e, err := Open(t.Context(), Options{Log: first.log, Accounts: enrolments("a"), Document: document("a"), Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			gateways = append(gateways, &world{t: t, store: first.store, log: first.log, Engine: e})
		}
		var trials atomic.Int64
		var wg sync.WaitGroup
		for i := range 21 {
			w, ask := gateways[i%3], first.ask()
			wg.Go(func() {
				a, _, err := w.Decide(t.Context(), ask)
				if err != nil || a == nil {
					return // refused while the trial was in flight
				}
				if a.Decision.Trial != nil {
					trials.Add(1)
				}
				time.Sleep(20 * time.Second) // a slow upstream that will refuse
				a.Failed(events.Failure{Class: events.ClassWindowExhausted, Scope: events.Scope{Kind: events.ScopeAccount},
					Answer: events.Answer{Status: 429, DispatchedAt: a.Stamp.DecidedAt}})
			})
		}
		wg.Wait()
		if n := count(all(t, first.store), events.KindAttemptRouted); n != 1 || trials.Load() != 1 {
			t.Errorf("%d dispatches, %d trials", n, trials.Load())
		}
		for _, w := range gateways[1:] {
			if err := w.Engine.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		first.stop()
	})
}

func TestASaturatedPinWaitsForAFreeConnectionAndIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := enrolments("a", "b")
		accounts[0].Settings.MaxConcurrent = 1
		w := open(t, ledgertest.NewMemory(), Options{Accounts: accounts, Document: document("a", "b")})
		defer w.stop()
		session := func() Ask {
			ask := w.ask()
			ask.Session = events.DigestOf("s1")
			return ask
		}
		pinned := w.decide(session())
		pinned.Succeeded(events.Answer{Status: 200, DispatchedAt: w.Now()}, "stop")
		busy := w.decide(session())
		got := make(chan string, 1)
		ask := session()
		go func() {
			a, _, err := w.Decide(t.Context(), ask)
			if err != nil {
				got <- err.Error()
				return
			}
			got <- a.Account.ID
			a.Succeeded(events.Answer{}, "stop")
		}()
		time.Sleep(100 * time.Millisecond)
		busy.Succeeded(events.Answer{Status: 200, DispatchedAt: w.Now()}, "stop")
		if id := <-got; id != "a" {
			t.Errorf("served by %s", id)
		}
		busy = w.decide(session())
		if borrowed := w.decide(session()); borrowed.Account.ID != "b" {
			t.Errorf("after pin_wait it is %s", borrowed.Account.ID)
		} else {
			borrowed.Succeeded(events.Answer{}, "stop")
		}
		busy.Succeeded(events.Answer{}, "stop")
	})
}
