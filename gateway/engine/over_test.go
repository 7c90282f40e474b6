package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/projections/requests"
)

// after is what a request asks when an attempt has failed.
func after(ask Ask, a *Attempt) Ask {
	ask.Attempt++
	ask.Tried, ask.Answered = append(ask.Tried, a.Account.No), true
	return ask
}

func failed(w *world) events.Failure {
	return events.Failure{Class: events.ClassServerError, Scope: events.Scope{Kind: events.ScopeAccount},
		Answer: events.Answer{Status: 500, DispatchedAt: w.Now()}}
}

func replied(*Refusal) *events.Reply { return &events.Reply{Status: 500} }

// row is what the ledger says of a request.
func (w *world) row(ask Ask) requests.Row {
	w.t.Helper()
	v := requests.New(requests.Keep)
	evs := all(w.t, w.store)
	for i := range evs {
		v.Apply(&evs[i])
	}
	r, ok := v.Get(ask.Request)
	if !ok {
		w.t.Fatal("the request has no row")
	}
	return r
}

// whatFollowed is what the newest failure says of what followed it.
func (w *world) whatFollowed() events.Followed {
	w.t.Helper()
	evs := all(w.t, w.store)
	for i := len(evs) - 1; i >= 0; i-- {
		if f, ok := events.FailureOf(evs[i].Data); ok {
			return f.Followed
		}
	}
	w.t.Fatal("no failure is recorded")
	return 0
}

func TestAFailoverIsDecidedInOneStepWithTheFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a", "b")
		defer w.stop()
		ask := w.ask()
		a := w.decide(ask)
		next, left := a.FailedOver(failed(w), after(ask, a), true, replied)
		if next == nil || left != nil || next.Account.ID != "b" {
			t.Fatalf("next %+v, left %+v", next, left)
		}
		next.Succeeded(events.Answer{Status: 200}, "stop")
		time.Sleep(time.Second)
		evs := all(t, w.store)
		for i := range evs {
			if f, ok := events.FailureOf(evs[i].Data); ok {
				if f.Followed != events.FollowedFailover || evs[i+1].Data.Kind() != events.KindAttemptRouted || evs[i+1].Attempt != 2 {
					t.Errorf("%s is recorded, and then %s", f.Followed, evs[i+1].Data.Kind())
				}
			}
		}
		if r := w.row(ask); r.Outcome != requests.Served || len(r.Tried) != 2 {
			t.Errorf("%s after %d attempts", r.Outcome, len(r.Tried))
		}
	})
}

// searching is a request whose first attempt has failed while the only other
// account is being tried by somebody else.
func searching(t *testing.T) (w *world, trial *Attempt, ask Ask) {
	w = due(t, "a", "b")
	trial = w.decide(w.ask())
	if trial.Account.ID != "a" || trial.Decision.Trial == nil {
		t.Fatalf("the trial went to %s", trial.Account.ID)
	}
	first := w.ask()
	b := w.decide(first)
	ask = after(first, b)
	next, left := b.FailedOver(failed(w), ask, true, replied)
	if next != nil || left != nil {
		t.Fatalf("next %+v, left %+v", next, left)
	}
	return w, trial, ask
}

func TestASearchThatFindsNobodyEndsItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, trial, ask := searching(t)
		defer w.stop()
		if _, refusal, err := w.Decide(t.Context(), ask); refusal == nil || err != nil {
			t.Fatalf("refusal %+v, %v", refusal, err)
		}
		w.Ended(ask, events.RequestEnded{Class: events.ClassServerError, Reply: events.Reply{Status: 500}})
		time.Sleep(time.Second)
		if f := w.whatFollowed(); f != events.FollowedSearch {
			t.Errorf("the event says that a %s followed", f)
		}
		if r := w.row(ask); r.Outcome != requests.Failed || r.Status != 500 {
			t.Errorf("the request is %s with %d", r.Outcome, r.Status)
		}
		trial.Succeeded(events.Answer{Status: 200}, "stop")
	})
}

func TestASearchThatFindsSomebodyGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, trial, ask := searching(t)
		defer w.stop()
		go func() {
			time.Sleep(time.Second)
			trial.Passed(w.Now())
			trial.Succeeded(events.Answer{Status: 200, DispatchedAt: w.Now()}, "stop")
		}()
		w.decide(ask).Succeeded(events.Answer{Status: 200}, "stop")
		time.Sleep(2 * time.Second)
		if r := w.row(ask); r.Outcome != requests.Served || len(r.Tried) != 2 {
			t.Errorf("the request is %s after %d attempts", r.Outcome, len(r.Tried))
		}
	})
}

func TestAClientThatLeavesASearchAborts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, trial, ask := searching(t)
		defer w.stop()
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if _, _, err := w.Decide(ctx, ask); err == nil {
			t.Fatal("decided for a client that had left")
		}
		w.Ended(ask, events.RequestEnded{Class: events.ClassClientAborted})
		time.Sleep(time.Second)
		if r := w.row(ask); r.Outcome != requests.Aborted || r.Status != 0 {
			t.Errorf("the request is %s with %d", r.Outcome, r.Status)
		}
		trial.Succeeded(events.Answer{Status: 200}, "stop")
	})
}

func TestAStartEndsTheSearchesThatACrashLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, ask := searching(t)
		time.Sleep(time.Second)
		w.kill()
		w = open(t, w.store.Reopen(), Options{}, "a", "b")
		defer w.stop()
		if r := w.row(ask); r.Outcome != requests.Failed || r.Status != 0 {
			t.Errorf("the request is %s with %d", r.Outcome, r.Status)
		}
	})
}
