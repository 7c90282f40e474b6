package admission

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

func TestR18_Operators(t *testing.T) {
	act := func(w *world, at events.Time, p events.Payload) {
		w.add(events.Header{Account: "a", ObservedAt: at}, p)
	}
	scope := func(s string) events.OperatorAction {
		x, _ := events.ParseScope(s)
		return events.OperatorAction{Actor: "x", Reason: "y", Scope: x}
	}
	t.Run("drain and undrain by their own time", func(t *testing.T) {
		w := newWorld(t, "a")
		act(w, after(time.Minute), &events.OperatorDrained{})
		d := w.admit("a", "m", after(2*time.Minute))
		wantOut(t, d, events.ReasonDrained, 0)
		if d.State != Drained || d.Soft || d.Durable {
			t.Fatalf("%s", show(d))
		}
		act(w, after(30*time.Second), &events.OperatorUndrained{}) // late: from before the drain
		wantOut(t, w.admit("a", "m", after(2*time.Minute)), events.ReasonDrained, 0)
		act(w, after(45*time.Second), &events.OperatorUndrained{})
		act(w, after(10*time.Second), &events.OperatorDrained{}) // late: an older drain does not replace the newer
		wantOut(t, w.admit("a", "m", after(2*time.Minute)), events.ReasonDrained, 0)
		act(w, after(3*time.Minute), &events.OperatorUndrained{})
		wantIn(t, w.admit("a", "m", after(3*time.Minute)))
	})
	t.Run("a park ends at its instant", func(t *testing.T) {
		w := newWorld(t, "a")
		o := scope("account")
		o.Until = after(time.Hour)
		act(w, epoch0, &events.OperatorParked{OperatorAction: o})
		d := w.admit("a", "m", after(time.Minute))
		wantOut(t, d, events.ReasonParkedByOperator, after(time.Hour))
		wantIn(t, w.admit("a", "m", after(time.Hour)))
	})
	t.Run("it outlives the credential", func(t *testing.T) {
		w := newWorld(t, "a")
		act(w, epoch0, &events.OperatorDrained{})
		w.epoch("a")
		wantOut(t, w.admit("a", "m", after(time.Minute)), events.ReasonDrained, 0)
	})
	t.Run("release ends everything from before it and arms", func(t *testing.T) {
		w := newWorld(t, "a")
		week := after(7 * day)
		for _, c := range []events.Class{events.ClassWindowExhausted, events.ClassCreditsExhausted, events.ClassRateLimited, events.ClassAuthFailed, events.ClassModelUnsupported} {
			w.fail(hit("a", "m", 0), of(c))
		}
		w.reading("a", after(time.Second), spent("7d", week))
		act(w, after(2*time.Second), &events.OperatorDrained{})
		act(w, after(3*time.Second), &events.OperatorReleased{})
		wantOut(t, w.admit("a", "m", after(4*time.Second)), events.ReasonDrained, 0)
		act(w, after(4*time.Second), &events.OperatorUndrained{})
		wantIn(t, w.admit("a", "m", after(4*time.Second)))
		w.reading("a", after(5*time.Second), spent("7d", week))
		wantIn(t, w.admit("a", "m", after(5*time.Second))) // armed
		w.fail(hit("a", "m", 6*time.Second), of(events.ClassWindowExhausted))
		if w.admit("a", "m", after(7*time.Second)).Admitted {
			t.Fatal("a fact from after the release does not count")
		}
	})
	t.Run("release of a model leaves the rest", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), of(events.ClassRateLimited))
		w.fail(hit("a", "n", 0), of(events.ClassRateLimited))
		act(w, after(time.Second), &events.OperatorReleased{OperatorAction: scope("model:m")})
		wantIn(t, w.admit("a", "m", after(time.Second)))
		if w.admit("a", "n", after(time.Second)).Admitted {
			t.Fatal("n was released")
		}
	})
	t.Run("release of an account releases what its group holds", func(t *testing.T) {
		w := newWorld(t)
		w.enrol("a", events.Settings{Endpoint: "h", Group: "g"})
		w.fail(hit("a", "m", 0), of(events.ClassWindowExhausted))
		act(w, after(time.Second), &events.OperatorReleased{})
		wantIn(t, w.admit("a", "m", after(time.Second)))
	})
}
