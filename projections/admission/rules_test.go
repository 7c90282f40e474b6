package admission

import (
	"slices"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

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

// A reached budget that lists models takes their room, and says nothing of the
// others'.
func TestR15_ABudgetThatListsModelsIsTheirRoom(t *testing.T) {
	w := newWorld(t, "a")
	w.credit("a", epoch0, events.Credit{Reached: events.Yes, UsedPercent: events.Dec(100 * events.DecimalUnit), ResetsAt: after(30 * day),
		Models: []events.ModelCredit{{Model: "m", Available: events.No}}})
	if rooms := w.v.AppendRooms(nil, w.path("a", "m")); len(rooms) != 1 || rooms[0].Remaining != 0 || !rooms[0].Exhausted {
		t.Errorf("m: %+v", rooms)
	}
	if rooms := w.v.AppendRooms(nil, w.path("a", "n")); len(rooms) != 0 {
		t.Errorf("n: %+v", rooms)
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
