package admission

import (
	"slices"
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

func Test_O65_O67_R6_OnlyWhatASuccessExercised(t *testing.T) {
	families := []events.Family{{Name: "std", Models: []string{"m", "n"}}, {Name: "core", Models: []string{"c*"}}}
	build := func() *world {
		w := newWorld(t)
		w.enrol("a", events.Settings{Provider: "p", Endpoint: "h", Families: families})
		for _, s := range []string{"account", "family:std", "family:core", "model:m", "model:n", "endpoint"} {
			w.fail(hit("a", "m", 0), failure(of(events.ClassWindowExhausted)).scope(s))
		}
		return w
	}
	w := build()
	w.ok(served("a", "m", 10*time.Second, 11*time.Second))
	for cell, want := range map[string]string{"window account": "clear", "window family:std": "clear", "window model:m": "clear", "window endpoint": "clear", "window model:n": "walled"} {
		if got := w.cellState("a", map[bool]string{true: "n", false: "m"}[cell == "window model:n"], cell, after(12*time.Second)); got != want {
			t.Errorf("%s is %s, want %s", cell, got, want)
		}
	}
	if got := w.cellState("a", "c1", "window family:core", after(12*time.Second)); got != "walled" { // O65, O67
		t.Errorf("family:core is %s", got)
	}
	t.Run("O65_a_success_on_another_model_leaves_the_wall", func(t *testing.T) {
		wantOut(t, w.admit("a", "n", after(12*time.Second)), events.ReasonWindowExhausted, after(5*time.Minute))
	})
	t.Run("O67_a_mark_for_one_tier_leaves_the_other_blocked", func(t *testing.T) {
		w := newWorld(t)
		w.enrol("a", events.Settings{Provider: "p", Endpoint: "h", Families: families})
		w.reading("a", epoch0, scoped(spent("5h", after(5*time.Hour)), "family:std"))
		w.ok(served("a", "c1", time.Second, 2*time.Second))
		if w.admit("a", "m", after(3*time.Second)).Admitted {
			t.Fatal("std is open")
		}
		wantIn(t, w.admit("a", "c1", after(3*time.Second))) // O66_a_standard_window_blocks_the_standard_tier_only
	})
	t.Run("a pushed family covers models that hold its name as a token", func(t *testing.T) {
		w := newWorld(t, "a")
		w.ok(served("a", "claude-fable-5", 0, time.Second))
		w.reading("a", after(2*time.Hour), scoped(spent("7d", after(5*day)), "family:Fable"))
		for model, out := range map[string]bool{"claude-fable-5": true, "Claude-FABLE": true, "affable-1": false, "claude-opus": false} {
			if w.admit("a", model, after(2*time.Hour)).Admitted == out {
				t.Errorf("%s: out = %v", model, !out)
			}
		}
	})
	t.Run("a family heard of late knows of earlier successes", func(t *testing.T) {
		w := newWorld(t, "a")
		w.ok(served("a", "claude-fable-5", 0, time.Second))
		w.reading("a", after(2*time.Second), scoped(spent("7d", after(5*day)), "family:fable"))
		wantIn(t, w.admit("a", "claude-fable-5", after(3*time.Second)))
	})
}

func TestR6_AFactDisarmsItsOwnScopeOnly(t *testing.T) {
	w := newWorld(t, "a")
	week := after(7 * day)
	w.ok(served("a", "m", 0, time.Second))
	w.fail(hit("a", "m", 2*time.Second), failure(of(events.ClassWindowExhausted)).scope("model:m"))
	w.reading("a", after(3*time.Second), spent("7d", week), scoped(spent("1d", week), "model:m"))
	wantIn(t, w.admit("a", "n", after(4*time.Second)))
	wantOut(t, w.admit("a", "m", after(4*time.Second)), events.ReasonWindowExhausted, after(5*time.Minute+2*time.Second))
	// A longer success that was dispatched before the fact does not arm again.
	w.ok(served("a", "m", time.Second, 5*time.Second))
	if w.admit("a", "m", after(6*time.Second)).Admitted {
		t.Fatal("a straggler armed")
	}
}

func TestR6_AnExhaustedReadingOfTheSuccessItselfDoesNotPark(t *testing.T) {
	w := newWorld(t, "a")
	r := events.Reading{Source: "headers", Windows: []events.Window{spent("5h", after(5*time.Hour))}}
	c := served("a", "m", 0, time.Second)
	w.add(c.header(c.to), &events.AttemptSucceeded{Answer: events.Answer{Status: 200, DispatchedAt: c.from, AnsweredAt: c.to, Reading: &r}})
	wantIn(t, w.admit("a", "m", after(2*time.Second)))
	rooms := w.v.AppendRooms(nil, w.path("a", "m"))
	if len(rooms) != 1 || !rooms[0].Exhausted || !rooms[0].InBand || rooms[0].Remaining != 0 {
		t.Fatalf("it weighs in placement: %+v", rooms)
	}
}

func TestR19_EventTimesOnly(t *testing.T) {
	w := newWorld(t, "a")
	w.reading("a", epoch0, spent("7d", after(4*day)))
	v := New()
	for i := range w.log {
		e := w.log[i]
		e.RecordedAt = after(900 * day)
		v.Apply(&e)
	}
	if string(v.AppendState(nil)) != string(w.v.AppendState(nil)) {
		t.Fatal("recorded_at has a part in the fold")
	}
}

// cellClock is the clock that an account's claims count from.
func (w *world) cellClock(account string, now events.Time) events.Time {
	w.v.judge.begin(w.v, w.v.row(w.path(account, "m").Account), "m", &w.policy, now)
	k := key{kind: events.ScopeGroup}
	return w.v.judge.clockOf(&cell{key: k})
}

func TestR15_Rooms(t *testing.T) {
	w := newWorld(t, "a")
	w.reading("a", epoch0, roomy("5h", 40, after(5*time.Hour)), spent("7d", 0), scoped(roomy("x", 5, 0), "model:other"), scoped(roomy("tools", 5, 0), "none"),
		events.Window{Name: "flag", Reached: events.Yes, RemainingPercent: events.Dec(30 * events.DecimalUnit), ResetsAt: after(time.Hour)})
	w.credit("a", after(time.Second), events.Credit{UsedPercent: events.Dec(99 * events.DecimalUnit), ResetsAt: after(30 * day)})
	var got []events.Decimal
	for _, r := range w.v.AppendRooms(nil, w.path("a", "m")) {
		got = append(got, r.Remaining/events.DecimalUnit)
	}
	if !slices.Equal(got, []events.Decimal{40, 0, 0, 1}) {
		t.Fatalf("%v", got)
	}
}

// A verdict is remembered by how often what it rests on has changed. An account
// that moves to another host has other things to rest on, whose counts may add
// up to the same.
func TestAMoveToAnotherHostForgetsTheVerdict(t *testing.T) {
	at := func(host string) events.Settings { return events.Settings{Provider: "p", Endpoint: host} }
	for calls := range 60 {
		w := newWorld(t)
		w.enrol("a", at("fine"))
		w.enrol("b", at("away"))
		w.enrol("c", at("fine"))
		for i := range calls / 2 {
			from := time.Duration(i) * time.Hour
			w.fail(hit("c", "m", from), of(events.ClassNetwork))
			w.ok(served("c", "m", from+time.Minute, from+2*time.Minute))
		}
		for i := range 10 + calls%2 {
			w.fail(hit("b", "m", 2*day+time.Duration(i)*300*time.Millisecond), of(events.ClassNetwork))
		}
		wantIn(t, w.admit("a", "m", after(2*day+3*time.Second)))
		w.enrol("a", at("away"))
		if d := w.admit("a", "m", after(2*day+3*time.Second)); d.Admitted {
			t.Fatalf("case %d: %s", calls, show(d))
		}
	}
}
