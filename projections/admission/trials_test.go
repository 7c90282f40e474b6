package admission

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

// due is a world whose account "a" is due by a quota 429, at six minutes.
func due(t *testing.T) (*world, call) {
	w := newWorld(t, "a")
	w.fail(hit("a", "m", 0), of(events.ClassWindowExhausted))
	return w, call{account: "a", model: "m", request: 50, from: after(6 * time.Minute)}
}

func TestR4_OneTrialAtATime(t *testing.T) {
	t.Run("granted iff every slot is free", func(t *testing.T) {
		w, c := due(t)
		w.claim(c)
		if !w.granted(c, c.from) {
			t.Fatal("not granted")
		}
		other := c
		other.request = 51
		w.add(other.header(c.from), &events.TrialClaimed{Trial: events.Trial{Lease: c.from.Add(time.Hour), Cells: []events.Cell{
			{Axis: events.AxisAuth, Scope: events.Scope{Kind: events.ScopeAccount}}, {Axis: events.AxisWindow, Scope: events.Scope{Kind: events.ScopeAccount}}}}})
		if w.granted(other, c.from) {
			t.Fatal("a second one was granted")
		}
		w.fail(hit("a", "m", 6*time.Minute), of(events.ClassAuthFailed))
		w.now(c.from).closed(c, events.TrialNotDispatched)
		auth := call{account: "a", model: "m", request: 52, from: after(20 * time.Minute)}
		if w.claim(auth); !w.granted(auth, auth.from) {
			t.Fatal("a void claim holds the slot of another of its cells")
		}
	})
	t.Run("the lease ends it, whoever crashed", func(t *testing.T) {
		w, c := due(t)
		w.claim(c)
		if w.granted(c, c.from.Add(150*time.Second)) {
			t.Fatal("held after its lease")
		}
		d := w.admit("a", "m", c.from.Add(149*time.Second))
		if d.SlotEnd != c.from.Add(150*time.Second) || d.Reason != events.ReasonTrialInProgress {
			t.Fatalf("%s", show(d))
		}
		wantDue(t, w.admit("a", "m", c.from.Add(150*time.Second)))
		lost := c
		lost.to = c.from.Add(time.Hour)
		w.fail(lost, of(events.ClassLost))
		wantDue(t, w.admit("a", "m", lost.to)) // it had ended: nothing rests
	})
	t.Run("a holder is judged as if its slot were free", func(t *testing.T) {
		w, c := due(t)
		w.claim(c)
		trial, d := AdmitHolder(w.v, w.path("a", "m"), id(3, c.request), 1, &w.policy, c.from)
		if trial == nil || !d.Trial || trial.Step != 2 || len(trial.Cells) != 1 {
			t.Fatalf("%+v %s", trial, show(d))
		}
		if other, d := AdmitHolder(w.v, w.path("a", "m"), id(3, 99), 1, &w.policy, c.from); other != nil || d.Trial {
			t.Fatalf("%+v %s", other, show(d))
		}
	})
}

func TestR4_WhatEndsASlot(t *testing.T) {
	for _, r := range []struct {
		class events.Class
		rests bool
	}{
		{events.ClassInvalidRequest, false}, {events.ClassPolicyRefused, false}, {events.ClassNotFound, false},
		{events.ClassServerError, true}, {events.ClassNetwork, true}, {events.ClassTimeout, true}, {events.ClassMalformed, true},
		{events.ClassClientAborted, true}, {events.ClassLost, true}, {events.ClassUnclassified, true},
	} {
		t.Run("after "+r.class.String(), func(t *testing.T) {
			w, c := due(t)
			w.claim(c)
			c.to = c.from.Add(time.Second)
			w.fail(c, of(r.class))
			d := w.admit("a", "m", c.to)
			if d.Trial == r.rests {
				t.Fatalf("%s", show(d))
			}
			if r.rests && d.SlotEnd != c.to.Add(30*time.Second) {
				t.Fatalf("rests until %s", d.SlotEnd)
			}
			wantDue(t, w.admit("a", "m", c.to.Add(30*time.Second)))
		})
	}
	t.Run("a model that is not supported ends it at once", func(t *testing.T) {
		w, c := due(t)
		w.claim(c)
		c.to = c.from.Add(time.Second)
		w.fail(c, of(events.ClassModelUnsupported))
		wantDue(t, w.admit("a", "other", c.to))
	})
	for _, class := range []events.Class{events.ClassRateLimited, events.ClassAuthFailed, events.ClassCreditsExhausted} {
		t.Run("a fact of another axis rests it: "+class.String(), func(t *testing.T) {
			w, c := due(t)
			w.claim(c)
			c.to = c.from.Add(time.Second)
			w.fail(c, of(class))
			if s := w.cellState("a", "m", "window account", c.to); s != "resting" {
				t.Fatal(s)
			}
		})
	}
	t.Run("closed ends", func(t *testing.T) {
		for end, rests := range map[events.TrialEnd]bool{events.TrialNeutral: true, events.TrialCausedByClient: false, events.TrialNotDispatched: false} {
			w, c := due(t)
			w.claim(c)
			w.now(c.from.Add(time.Second)).closed(c, end)
			if d := w.admit("a", "m", c.from.Add(time.Second)); d.Trial == rests {
				t.Fatalf("%s: %s", end, show(d))
			}
		}
	})
}

func TestR4_StepsAndWhatATrialKnew(t *testing.T) {
	t.Run("steps: 1 after a claim park, then one more per trial", func(t *testing.T) {
		w := newWorld(t, "a")
		w.reading("a", epoch0, spent("7d", after(9*day)))
		at := 30 * time.Minute
		for step, wait := range []time.Duration{5, 10, 20, 30, 30} {
			c := call{account: "a", model: "m", request: uint64(60 + step), from: after(at)}
			trial := w.trial(c)
			if trial.Step != uint32(step+1) {
				t.Fatalf("step %d, want %d", trial.Step, step+1)
			}
			w.claim(c)
			c.to, c.step = c.from.Add(time.Second), trial.Step
			w.fail(c, of(events.ClassWindowExhausted))
			at += time.Second + wait*time.Minute
			if d := w.admit("a", "m", c.to); d.TrialAt != after(at) {
				t.Fatalf("step %d: %s, want %s", trial.Step, show(d), after(at))
			}
		}
	})
	t.Run("the attempt itself claims rate and health cells", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), of(events.ClassRateLimited))
		c := call{account: "a", model: "m", request: 70, from: after(6 * time.Second)}
		trial := w.trial(c)
		w.add(c.header(c.from), &events.AttemptRouted{Trial: &trial})
		if d := w.admit("a", "m", c.from); d.Reason != events.ReasonTrialInProgress {
			t.Fatalf("%s", show(d))
		}
		c.to, c.step = c.from.Add(time.Second), trial.Step
		w.fail(c, of(events.ClassRateLimited))
		wantOut(t, w.admit("a", "m", c.to), events.ReasonRateLimited, after(17*time.Second))
	})
	t.Run("an unclaimed one is seen too", func(t *testing.T) {
		w, c := due(t)
		trial := w.trial(c)
		w.add(c.header(c.from), &events.AttemptRouted{Trial: &trial, Unclaimed: true})
		if d := w.admit("a", "m", c.from); d.Reason != events.ReasonTrialInProgress {
			t.Fatalf("%s", show(d))
		}
	})
	t.Run("a passed trial knew what its decision knew", func(t *testing.T) {
		w, c := due(t)
		c.from = after(5 * time.Minute)
		w.claim(c)
		// A straggler's fact, answered within the skew of the dispatch, that the claim did not know.
		w.fail(hit("a", "m", 5*time.Minute+500*time.Millisecond), of(events.ClassWindowExhausted))
		w.add(c.header(after(5*time.Minute+time.Second)), &events.TrialPassed{Cells: w.cells("a", "m", c.from), DispatchedAt: c.from, AnsweredAt: after(5*time.Minute + time.Second)})
		wantOut(t, w.admit("a", "m", after(5*time.Minute+time.Second)), events.ReasonWindowExhausted, after(10*time.Minute+500*time.Millisecond))
	})
}

// at is a world at an instant.
type at struct {
	*world
	t events.Time
}

func (w *world) now(t events.Time) at { return at{w, t} }

func (a at) closed(c call, end events.TrialEnd) {
	a.add(c.header(a.t), &events.TrialClosed{Cells: a.cells(c.account, c.model, c.from), End: end})
}

func (w *world) cells(account, model string, now events.Time) []events.Cell {
	var out []events.Cell
	for _, r := range Explain(w.v, w.path(account, model), &w.policy, now) {
		if r.Blocking {
			out = append(out, r.Cell)
		}
	}
	return out
}
