package admission

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

const day = 24 * time.Hour

func Test_A2_A5_B3_B26_O1_O11_O13_R1_Claims(t *testing.T) {
	week := after(4 * day)
	flag := func(b bool, w events.Window) events.Window { w.Reached = events.Bool(b); return w }
	for _, row := range []struct {
		name   string
		window events.Window
		out    bool
	}{
		{"O1_nothing_left_and_a_reset_ahead_parks", spent("weekly", week), true},
		{"O11_nothing_left_and_no_reset_fails_open", spent("weekly", 0), false},
		{"A5_a_reset_in_the_past_fails_open", spent("weekly", after(-time.Minute)), false},
		{"a reset 401 days away is no reset", spent("weekly", after(401*day)), false},
		{"A2_the_flag_parks_whatever_the_numbers_say", flag(true, roomy("weekly", 50, week)), true},
		{"B3_the_flag_admits_whatever_the_numbers_say", flag(false, spent("weekly", week)), false},
		{"a remaining that is not reported never parks", events.Window{Name: "weekly", RemainingPercent: events.Dec(0), ResetsAt: week}, false},
		{"used of limit counts when it is reported", events.Window{Name: "weekly", Used: events.Dec(40000), Limit: events.Dec(40000), Reported: true, ResetsAt: week}, true},
		{"B26_one_percent_left_is_room", roomy("weekly", 1, week), false},
		{"a sliver of a huge limit is room", events.Window{Name: "weekly", Used: events.Dec(8_999_999_999_999), Limit: events.Dec(9_000_000_000_000), Reported: true, ResetsAt: week}, false},
		{"O13_scope_none_never_parks", scoped(spent("tools", week), "none"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, "a")
			w.reading("a", epoch0, row.window)
			if got := !w.admit("a", "m", after(time.Second)).Admitted; got != row.out {
				t.Fatalf("out = %v, want %v", got, row.out)
			}
		})
	}
}

func TestR1_TheNewestReadingPerWindowCounts(t *testing.T) {
	w := newWorld(t, "a")
	w.reading("a", after(time.Minute), spent("5h", after(5*time.Hour)))
	w.reading("a", after(30*time.Second), roomy("5h", 10, after(5*time.Hour)))
	if w.admit("a", "m", after(2*time.Minute)).Admitted {
		t.Fatal("a late older reading changed something")
	}
	w.reading("a", after(2*time.Minute), roomy("7d", 10, after(5*day)))
	w.reading("a", after(3*time.Minute))
	w.reading("a", after(4*time.Minute), events.Window{Name: "5h"})
	if w.admit("a", "m", after(4*time.Minute)).Admitted {
		t.Fatal("a reading that does not speak of the window ended its claim")
	}
	w.reading("a", after(5*time.Minute), roomy("5h", 1, after(5*time.Hour)))
	wantIn(t, w.admit("a", "m", after(5*time.Minute)))
}

func TestR1_StaleClaimsAreDueAndAFreshOneParksAgain(t *testing.T) {
	w := newWorld(t, "a")
	w.policy.ReadingMaxAge = 5 * time.Minute
	w.reading("a", epoch0, spent("5h", after(5*time.Hour)))
	wantOut(t, w.admit("a", "m", after(5*time.Minute)), events.ReasonWindowExhausted, after(30*time.Minute))
	d := w.admit("a", "m", after(5*time.Minute+time.Millisecond))
	wantDue(t, d)
	if d.TrialAt != after(30*time.Minute) {
		t.Fatalf("staleness moved trial_at to %s", d.TrialAt)
	}
	w.reading("a", after(10*time.Minute), spent("5h", after(5*time.Hour)))
	wantOut(t, w.admit("a", "m", after(10*time.Minute)), events.ReasonWindowExhausted, after(30*time.Minute))
}

func TestR2_ParkCapAndTwoInstants(t *testing.T) {
	w := newWorld(t, "a")
	w.reading("a", epoch0, spent("weekly", after(4*day)), spent("5h", after(5*time.Minute)))
	d := w.admit("a", "m", after(time.Minute))
	wantOut(t, d, events.ReasonWindowExhausted, after(30*time.Minute))
	if d.Until != after(4*day) {
		t.Fatalf("until = %s", d.Until)
	}
	wantDue(t, w.admit("a", "m", after(30*time.Minute)))
}

func TestR2_OneClockPerAccount(t *testing.T) {
	w := newWorld(t, "a")
	far := after(4 * day)
	w.reading("a", epoch0, spent("w1", far))
	w.reading("a", after(10*time.Minute), spent("w2", far))
	w.reading("a", after(11*time.Minute), roomy("w1", 5, far))
	wantOut(t, w.admit("a", "m", after(12*time.Minute)), events.ReasonWindowExhausted, after(30*time.Minute))
	// Taking turns never restarts it, however often.
	at := 12 * time.Minute
	for i := range 200 {
		on, off := "w1", "w2"
		if i%2 == 1 {
			on, off = off, on
		}
		w.reading("a", after(at), spent(on, far))
		w.reading("a", after(at+time.Second), roomy(off, 5, far))
		at += 2 * time.Second
	}
	wantOut(t, w.admit("a", "m", after(29*time.Minute)), events.ReasonWindowExhausted, after(30*time.Minute))
	// A reading that leaves no exhausted window clears it.
	w.reading("a", after(29*time.Minute), roomy("w1", 5, far), roomy("w2", 5, far))
	wantIn(t, w.admit("a", "m", after(29*time.Minute)))
	w.reading("a", after(40*time.Minute), spent("w1", far))
	wantOut(t, w.admit("a", "m", after(40*time.Minute)), events.ReasonWindowExhausted, after(70*time.Minute))
}

func TestR3_RepeatingAClaimNeverMovesTheTrial(t *testing.T) {
	w := newWorld(t, "a")
	w.reading("a", epoch0, spent("5h", after(5*time.Hour)))
	for i := range 900 {
		at := time.Duration(i) * 2 * time.Second
		w.reading("a", after(at), spent("5h", after(at+5*time.Hour)))
		d := w.admit("a", "m", after(at))
		wantOut(t, d, events.ReasonWindowExhausted, after(30*time.Minute))
		if d.Until != after(at+5*time.Hour) {
			t.Fatalf("until = %s after %s: it follows the newest reading", d.Until, at)
		}
	}
	wantDue(t, w.admit("a", "m", after(30*time.Minute)))
}

func TestR5_NoReparkWithoutAnAttempt(t *testing.T) {
	w := newWorld(t, "a")
	w.reading("a", epoch0, spent("5h", after(5*time.Minute)))
	wantDue(t, w.admit("a", "m", after(5*time.Minute)))
	w.reading("a", after(6*time.Minute), spent("5h", after(5*time.Hour)), spent("7d", after(4*day)))
	wantDue(t, w.admit("a", "m", after(6*time.Minute)))
}

func TestR6_HealthyOverride(t *testing.T) {
	w := newWorld(t, "a")
	week := after(4 * day)
	w.reading("a", epoch0, spent("weekly", week))
	w.ok(served("a", "m", 30*time.Minute, 31*time.Minute))
	wantIn(t, w.admit("a", "m", after(31*time.Minute)))
	w.reading("a", after(32*time.Minute), spent("weekly", week))
	wantIn(t, w.admit("a", "m", after(60*time.Minute)))
	d := w.admit("a", "m", after(61*time.Minute))
	wantDue(t, d) // clock = the success
	if d.TrialAt != after(61*time.Minute) {
		t.Fatalf("trial at %s", d.TrialAt)
	}
}

func TestR6_AStragglerEndsClaimsAndNoFact(t *testing.T) {
	w := newWorld(t, "a")
	w.fail(call{account: "a", model: "m", from: after(0), to: after(10 * time.Second)}, of(events.ClassWindowExhausted))
	w.ok(served("a", "m", 9*time.Second, 20*time.Second))
	wantOut(t, w.admit("a", "m", after(21*time.Second)), events.ReasonWindowExhausted, after(5*time.Minute+10*time.Second))
	w.ok(served("a", "m", 11*time.Second, 22*time.Second)) // within the skew, and it did not know
	if w.admit("a", "m", after(23*time.Second)).Admitted {
		t.Fatal("a success dispatched within the clock skew ended the fact")
	}
	w.ok(call{account: "a", model: "m", from: after(11 * time.Second), to: after(23 * time.Second), knewOwn: w.seq - 2})
	wantIn(t, w.admit("a", "m", after(23*time.Second)))
}

// An attempt gives back what it claimed and then, decided anew, tests a cooling
// cell of the same account: its dispatch is the claim of that cell, and no
// second one goes there (found by the simulation).
func TestR4_ADispatchAfterAGivenBackClaimTakesItsOwnSlot(t *testing.T) {
	w := newWorld(t, "a")
	for i := range 3 {
		w.fail(call{account: "a", model: "m", request: uint64(10 + i), from: epoch0, to: after(time.Duration(i) * time.Second)}, of(events.ClassServerError))
	}
	w.reading("a", after(3*time.Second), spent("5h", after(10*time.Second)))
	c := call{account: "a", model: "m", request: 1, from: after(time.Minute)}
	claimed := w.claim(c).Data.(*events.TrialClaimed).Trial
	if len(claimed.Cells) != 2 || !w.granted(c, c.from) {
		t.Fatalf("claimed %+v", claimed)
	}
	w.reading("a", after(61*time.Second), roomy("5h", 10, after(5*time.Hour)))
	w.add(c.header(after(62*time.Second)), &events.TrialClosed{Cells: claimed.Cells, End: events.TrialNotDispatched})
	c.from = after(62 * time.Second)
	health := w.trial(c)
	if len(health.Cells) != 1 || health.Cells[0].Axis != events.AxisHealth {
		t.Fatalf("left to test: %+v", health.Cells)
	}
	w.add(c.header(c.from), &events.AttemptRouted{Stamp: events.Stamp{DecidedAt: c.from}, Chosen: 1, Trial: &health})
	if v := w.admit("a", "m", after(63*time.Second)); v.Trial || v.Reason != events.ReasonTrialInProgress {
		t.Fatalf("a second one may go there: %s", show(v))
	}
}
