package admission

import (
	"slices"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

func Test_B035_B046_R12_Health(t *testing.T) {
	server := of(events.ClassServerError)
	t.Run("B035_one_5xx_cools_nothing_down", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), stated(events.ClassServerError, after(day)))
		wantIn(t, w.admit("a", "m", after(time.Second)))
	})
	t.Run("a stated Retry-After is for people", func(t *testing.T) {
		w := newWorld(t, "a")
		for i := range 3 {
			w.fail(hit("a", "m", time.Duration(i)*time.Second), stated(events.ClassServerError, after(day)))
		}
		d := w.admit("a", "m", after(3*time.Second))
		wantOut(t, d, events.ReasonCoolingDown, after(7*time.Second))
		if d.Until != after(day) {
			t.Fatalf("%s", show(d))
		}
	})
	t.Run("a contrary answer starts the count anew and ends no cooldown", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), server)
		w.fail(hit("a", "m", time.Second), server)
		w.fail(hit("a", "m", 2*time.Second), of(events.ClassInvalidRequest))
		w.fail(hit("a", "m", 3*time.Second), server)
		w.fail(hit("a", "m", 4*time.Second), server)
		wantIn(t, w.admit("a", "m", after(5*time.Second)))
		w.fail(hit("a", "m", 5*time.Second), server)
		wantOut(t, w.admit("a", "m", after(6*time.Second)), events.ReasonCoolingDown, after(10*time.Second))
		w.fail(hit("a", "m", 6*time.Second), of(events.ClassInvalidRequest))
		wantOut(t, w.admit("a", "m", after(7*time.Second)), events.ReasonCoolingDown, after(10*time.Second))
		w.ok(served("a", "m", 8*time.Second, 9*time.Second))
		wantIn(t, w.admit("a", "m", after(9*time.Second)))
	})
	for _, first := range []string{"failure", "contrary answer"} {
		t.Run("of one instant the failure counts before the contrary answer, also when the "+first+" arrived first", func(t *testing.T) {
			w := newWorld(t, "a")
			w.fail(hit("a", "m", time.Second), server)
			pair := []events.Failure{server, of(events.ClassInvalidRequest)}
			if first != "failure" {
				slices.Reverse(pair)
			}
			for _, f := range pair {
				w.fail(hit("a", "m", 2*time.Second), f)
			}
			w.fail(hit("a", "m", 3*time.Second), server)
			w.fail(hit("a", "m", 4*time.Second), server)
			wantIn(t, w.admit("a", "m", after(5*time.Second)))
			w.fail(hit("a", "m", 5*time.Second), server)
			wantOut(t, w.admit("a", "m", after(6*time.Second)), events.ReasonCoolingDown, after(10*time.Second))
		})
	}
	t.Run("the cooldown doubles up to 2 m", func(t *testing.T) {
		for step, want := range map[uint32]time.Duration{1: 5, 2: 10, 5: 80, 6: 120, 30: 120} {
			w := newWorld(t, "a")
			w.policy.HealthThreshold = 1
			w.fail(stepped(hit("a", "m", 0), step), server)
			wantOut(t, w.admit("a", "m", after(time.Second)), events.ReasonCoolingDown, after(want*time.Second))
		}
	})
	t.Run("B046_a_host_that_cannot_be_reached_is_nobodys_account", func(t *testing.T) {
		w := newWorld(t, "a", "b")
		for i := range 10 {
			w.fail(hit("a", "m", time.Duration(i)*300*time.Millisecond), of(events.ClassNetwork))
		}
		d := w.admit("b", "m", after(3*time.Second))
		if d.Scope.Kind != events.ScopeEndpoint || !d.Soft {
			t.Fatalf("%s", show(d))
		}
		last := served("b", "m", 3*time.Second, 4*time.Second) // the last path; its decision knew of the failures
		last.knewOwn = w.seq
		w.ok(last)
		wantIn(t, w.admit("a", "m", after(4*time.Second)))
	})
	t.Run("a 5xx shows that the host answers", func(t *testing.T) {
		w := newWorld(t, "a", "b")
		w.fail(hit("a", "m", 0), of(events.ClassNetwork))
		w.fail(hit("a", "m", time.Second), of(events.ClassNetwork))
		w.fail(hit("b", "m", 2*time.Second), server)
		w.fail(hit("a", "m", 3*time.Second), of(events.ClassNetwork))
		wantIn(t, w.admit("a", "m", after(4*time.Second)))
	})
	t.Run("overload of a model is the model's", func(t *testing.T) {
		w := newWorld(t, "a")
		for i := range 3 {
			w.fail(hit("a", "m", time.Duration(i)*time.Second), failure(of(events.ClassOverloaded)).scope("model:m"))
		}
		wantOut(t, w.admit("a", "m", after(3*time.Second)), events.ReasonCoolingDown, after(7*time.Second))
		wantIn(t, w.admit("a", "n", after(3*time.Second)))
	})
	t.Run("nobody's failures", func(t *testing.T) {
		w := newWorld(t, "a")
		w.policy.HealthThreshold = 1
		for i, c := range []events.Class{events.ClassClientAborted, events.ClassLost, events.ClassInvalidRequest, events.ClassPolicyRefused, events.ClassNotFound} {
			w.fail(hit("a", "m", time.Duration(i)*time.Second), of(c))
		}
		wantIn(t, w.admit("a", "m", after(5*time.Second)))
	})
	t.Run("a model that the account does not serve", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), of(events.ClassModelUnsupported))
		d := w.admit("a", "m", after(time.Second))
		wantOut(t, d, events.ReasonModelUnsupported, after(time.Hour))
		if d.Soft || d.Axis != events.AxisAuth || d.Scope.String() != "model:m" {
			t.Fatalf("%s", show(d))
		}
		wantIn(t, w.admit("a", "n", after(time.Second)))
		w.add(events.Header{Account: "a", ObservedAt: after(time.Minute), Epoch: 1}, &events.AccountChanged{Settings: w.v.Account("a").Settings, Cause: "reload"})
		wantDue(t, w.admit("a", "m", after(time.Minute)))
	})
	t.Run("a failed fetch of quota is no fact", func(t *testing.T) {
		w := newWorld(t, "a")
		w.add(events.Header{Account: "a", ObservedAt: epoch0}, &events.QuotaFetchFailed{Source: "x", Status: 429, RetryAt: after(time.Hour)})
		wantIn(t, w.admit("a", "m", after(time.Second)))
	})
}
