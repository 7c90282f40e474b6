package admission

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

func Test_B161_G1_G2_G5_R11_Auth(t *testing.T) {
	t.Run("a 401 waits 5 min doubling to 6 h", func(t *testing.T) {
		w := newWorld(t, "a")
		for step, want := range map[uint32]time.Duration{1: 5 * time.Minute, 2: 10 * time.Minute, 6: 160 * time.Minute, 8: 6 * time.Hour, 30: 6 * time.Hour} {
			w.epoch("a")
			w.fail(stepped(hit("a", "m", 0), step), of(events.ClassAuthFailed))
			wantOut(t, w.admit("a", "any", after(time.Second)), events.ReasonAuthFailed, after(want))
		}
	})
	t.Run("a new epoch ends own evidence and nobody else's", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), of(events.ClassAuthFailed))
		w.fail(hit("a", "m", 0), failure(of(events.ClassRateLimited)).scope("endpoint"))
		w.epoch("a")
		wantOut(t, w.admit("a", "m", after(time.Second)), events.ReasonRateLimited, after(5*time.Second))
		if w.cellState("a", "m", "auth account", after(time.Second)) != "clear" {
			t.Fatal("the old credential's 401 stands")
		}
		// A straggler of the old credential does not count either.
		old := hit("a", "m", time.Second)
		old.epoch = 1
		w.fail(old, of(events.ClassAuthFailed))
		if w.cellState("a", "m", "auth account", after(2*time.Second)) != "clear" {
			t.Fatal("a late 401 of the old credential counts")
		}
	})
	t.Run("B161_and_an_old_success_does_not_arm_the_new_one", func(t *testing.T) {
		w := newWorld(t, "a")
		w.ok(served("a", "m", 0, time.Second))
		w.epoch("a")
		w.reading("a", after(2*time.Second), spent("7d", after(4*day)))
		if w.admit("a", "m", after(3*time.Second)).Admitted {
			t.Fatal("the override of the old credential is armed")
		}
	})
	t.Run("G1_a_ban_is_never_tried", func(t *testing.T) {
		w := newWorld(t, "a")
		f := of(events.ClassForbidden)
		f.Permanent = true
		w.fail(hit("a", "m", 0), f)
		d := w.admit("a", "m", after(400*day))
		wantOut(t, d, events.ReasonAuthFailed, 0)
		if d.State != Disabled || d.Soft {
			t.Fatalf("%s", show(d))
		}
		w.ok(call{account: "a", model: "m", from: after(day), to: after(day + time.Second)})
		if w.admit("a", "m", after(2*day)).Admitted {
			t.Fatal("a success ended a ban")
		}
		w.add(events.Header{Account: "a", ObservedAt: after(3 * day)}, &events.OperatorReleased{})
		wantIn(t, w.admit("a", "m", after(3*day)))
	})
	t.Run("a forbidden marked temporary is as a 401", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), of(events.ClassForbidden))
		wantOut(t, w.admit("a", "m", after(time.Second)), events.ReasonAuthFailed, after(5*time.Minute))
	})
	t.Run("G2_a_model_that_is_not_included_is_unsupported", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), failure(of(events.ClassForbidden)).scope("model:m"))
		d := w.admit("a", "m", after(time.Second))
		wantOut(t, d, events.ReasonModelUnsupported, after(time.Hour))
		wantIn(t, w.admit("a", "n", after(time.Second)))
	})
	t.Run("G5_a_forbidden_request_touches_no_account", func(t *testing.T) {
		w := newWorld(t, "a")
		for _, s := range []string{"request", "endpoint"} {
			w.fail(hit("a", "m", 0), failure(of(events.ClassForbidden)).scope(s))
		}
		wantIn(t, w.admit("a", "m", after(time.Second)))
	})
}

// epoch gives the account another credential.
func (w *world) epoch(account string) {
	a := w.v.Account(account)
	w.add(events.Header{Account: account, ObservedAt: epoch0, Epoch: a.Epoch + 1}, &events.AccountChanged{Settings: a.Settings, Cause: "credential"})
}

func Test_B001_B041_R11_UnreadableForbidden(t *testing.T) {
	strange := func(w *world, account string, request uint64, attempt uint32, at time.Duration) {
		c := hit(account, "m", at)
		c.request, c.attempt = request, attempt
		w.fail(c, of(events.ClassUnclassified))
	}
	serve := func(w *world, account string, request uint64, at time.Duration) {
		c := served(account, "m", at-100*time.Millisecond, at)
		c.request, c.attempt = request, 2
		w.ok(c)
	}
	t.Run("B001_two_accounts_alike_count_for_nobody", func(t *testing.T) {
		w := newWorld(t, "a", "b", "c")
		w.policy.HealthThreshold = 1
		for i := range uint64(9) {
			at := time.Duration(i) * time.Second
			strange(w, "a", i, 1, at)
			strange(w, "b", i, 2, at+time.Millisecond)
		}
		for _, a := range []string{"a", "b", "c"} {
			wantIn(t, w.admit(a, "m", after(9*time.Second)))
		}
	})
	t.Run("one that another account serves is a failure of health", func(t *testing.T) {
		w := newWorld(t, "a", "b")
		for i := range uint64(3) {
			at := time.Duration(i) * time.Second
			strange(w, "a", i, 1, at)
			wantIn(t, w.admit("a", "m", after(at)))
			serve(w, "b", i, at+500*time.Millisecond)
		}
		d := w.admit("a", "m", after(2600*time.Millisecond))
		wantOut(t, d, events.ReasonCoolingDown, after(7*time.Second))
		wantIn(t, w.admit("b", "m", after(3*time.Second)))
	})
	t.Run("its cooldown grows up to park_cap", func(t *testing.T) {
		w := newWorld(t, "a", "b")
		for i := range uint64(3) {
			c := stepped(hit("a", "m", time.Duration(i)*time.Second), 20)
			c.request = i
			w.fail(c, of(events.ClassUnclassified))
			serve(w, "b", i, time.Duration(i)*time.Second+time.Millisecond)
		}
		if d := w.admit("a", "m", after(3*time.Second)); d.TrialAt != after(2*time.Second+30*time.Minute) {
			t.Fatalf("%s", show(d))
		}
	})
	t.Run("B041_alone_it_parks_nothing", func(t *testing.T) {
		w := newWorld(t, "a")
		for i := range uint64(20) {
			strange(w, "a", i, 1, time.Duration(i)*time.Second)
		}
		wantIn(t, w.admit("a", "m", after(21*time.Second)))
	})
}
