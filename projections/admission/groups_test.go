package admission

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

func Test_G34_R21_Groups(t *testing.T) {
	team := func() *world {
		w := newWorld(t)
		for _, a := range []string{"a", "b"} {
			w.enrol(a, events.Settings{Provider: "p", Endpoint: "h", Group: "team"})
		}
		w.enrol("c", events.Settings{Provider: "p", Endpoint: "h"})
		return w
	}
	t.Run("quota, credit and payment are shared", func(t *testing.T) {
		for _, c := range []events.Class{events.ClassWindowExhausted, events.ClassCreditsExhausted} {
			w := team()
			w.fail(hit("a", "m", 0), of(c))
			if d := w.admit("b", "m", after(time.Second)); d.Admitted || d.Scope.Kind != events.ScopeGroup {
				t.Fatalf("%s", show(d))
			}
			wantIn(t, w.admit("c", "m", after(time.Second)))
		}
		w := team()
		w.credit("b", epoch0, events.Credit{Reached: events.Yes, ResetsAt: after(day)})
		if w.admit("a", "m", after(time.Second)).Admitted {
			t.Fatal("the budget is the group's")
		}
	})
	t.Run("a narrower scope is shared in that scope", func(t *testing.T) {
		w := team()
		w.fail(hit("a", "m", 0), failure(of(events.ClassWindowExhausted)).scope("model:m"))
		if w.admit("b", "m", after(time.Second)).Admitted {
			t.Fatal("b serves m")
		}
		wantIn(t, w.admit("b", "n", after(time.Second)))
	})
	t.Run("auth, health and burst stay with the account", func(t *testing.T) {
		for _, c := range []events.Class{events.ClassAuthFailed, events.ClassRateLimited, events.ClassModelUnsupported} {
			w := team()
			w.fail(hit("a", "m", 0), of(c))
			wantIn(t, w.admit("b", "m", after(time.Second)))
		}
	})
	t.Run("G34_a_burst_of_the_team_skips_the_team", func(t *testing.T) {
		w := team()
		w.fail(hit("a", "m", 0), failure(of(events.ClassRateLimited)).scope("group"))
		if w.admit("b", "m", after(time.Second)).Admitted {
			t.Fatal("the team's limit is b's too")
		}
		wantIn(t, w.admit("c", "m", after(time.Second)))
	})
	t.Run("the newest reading of any member counts", func(t *testing.T) {
		w := team()
		w.reading("a", epoch0, spent("7d", after(day)))
		w.reading("b", after(time.Minute), roomy("7d", 5, after(day)))
		wantIn(t, w.admit("a", "m", after(time.Minute)))
	})
	t.Run("one trial slot per group", func(t *testing.T) {
		w := team()
		w.fail(hit("a", "m", 0), of(events.ClassWindowExhausted))
		c := call{account: "a", model: "m", request: 80, from: after(6 * time.Minute)}
		w.claim(c)
		if d := w.admit("b", "m", c.from); d.Reason != events.ReasonTrialInProgress {
			t.Fatalf("%s", show(d))
		}
	})
	t.Run("clocks stay with the members", func(t *testing.T) {
		w := team()
		w.reading("a", epoch0, spent("7d", after(9*day)))
		w.ok(served("a", "m", 30*time.Minute, 31*time.Minute))
		w.fail(hit("a", "m", 32*time.Minute), of(events.ClassWindowExhausted)) // disarms
		w.add(events.Header{Account: "a", ObservedAt: after(33 * time.Minute)}, &events.OperatorReleased{OperatorAction: events.OperatorAction{Scope: events.Scope{Kind: events.ScopeModel, Name: "zz"}}})
		w.reading("a", after(33*time.Minute), spent("7d", after(9*day)))
		a := w.cellClock("a", after(34*time.Minute))
		b := w.cellClock("b", after(34*time.Minute))
		if a != after(31*time.Minute) || b != epoch0 {
			t.Fatalf("clocks %s and %s", a, b)
		}
	})
	t.Run("evidence keeps the scope that it had when recorded", func(t *testing.T) {
		w := team()
		w.reading("c", epoch0, spent("7d", after(day)))
		w.add(events.Header{Account: "c", ObservedAt: after(time.Second), Epoch: 1}, &events.AccountChanged{Settings: events.Settings{Endpoint: "h", Group: "team"}, Cause: "learned"})
		wantIn(t, w.admit("a", "m", after(time.Minute)))
		if w.admit("c", "m", after(time.Minute)).Admitted {
			t.Fatal("c's own evidence was lost")
		}
	})
}
