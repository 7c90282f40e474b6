package admission

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

// Starvation: claims of exhaustion every 200 ms for a week, an upstream that
// serves, one request an hour. The account serves within one park cap of the
// first request and is never out longer again.
func TestNothingStarvesUnderAWeekOfClaims(t *testing.T) {
	every := 200 * time.Millisecond
	if testing.Short() {
		every = 20 * time.Second
	}
	w := newWorld(t, "a")
	w.log = nil
	end := after(7 * day)
	served, refused := 0, 0
	request := uint64(1)
	nextRequest := after(time.Minute)
	pendingUntil := events.Time(0) // a refused client comes back when it was told to
	for now := epoch0; now < end; now = now.Add(every) {
		w.reading("a", now, spent("7d", now.Add(4*day)), roomy("5h", 90, now.Add(5*time.Hour)))
		w.log = w.log[:0]
		if now < nextRequest || now < pendingUntil {
			continue
		}
		d := w.admit("a", "m", now)
		c := call{account: "a", model: "m", request: request, from: now, to: now.Add(100 * time.Millisecond)}
		switch {
		case d.Trial:
			w.claim(c)
			if !w.granted(c, now) {
				t.Fatalf("at %s: due and not granted", now)
			}
			fallthrough
		case d.Admitted:
			w.ok(c)
			served++
			request++
			nextRequest, pendingUntil = now.Add(time.Hour), 0
		default:
			refused++
			if served > 0 && d.TrialAt.Sub(now) > 0 {
				t.Fatalf("at %s: out again after it served: %s", now, show(d))
			}
			if d.TrialAt > after(time.Minute+30*time.Minute) && served == 0 {
				t.Fatalf("out beyond one park cap of the first request: %s", show(d))
			}
			pendingUntil = d.TrialAt
		}
	}
	if served < 167 || refused != 1 {
		t.Fatalf("%d served, %d refused", served, refused)
	}
}

// Hammering: an upstream that refuses for a week, 50 requests a second: hits
// <= in flight when it ran dry + one per step (I12), one per park window.
func TestNothingHammersAnUpstreamThatRefuses(t *testing.T) {
	for _, class := range []events.Class{events.ClassWindowExhausted, events.ClassCreditsExhausted, events.ClassAuthFailed} {
		t.Run(class.String(), func(t *testing.T) {
			w := newWorld(t, "a")
			for i := range 20 { // in flight when it ran dry
				w.fail(hit("a", "m", time.Duration(i)*time.Millisecond), of(class))
			}
			hits, wall := 0, events.Time(0)
			end := after(7 * day)
			for now := after(20 * time.Millisecond); now < end; now = now.Add(20 * time.Millisecond) {
				if d := w.admit("a", "m", now); !d.Trial {
					if d.Admitted {
						t.Fatal("admitted by an upstream that refuses")
					}
					// Nothing changes before Valid: skip what the gateway would refuse.
					if steps := d.Valid.Sub(now) / (20 * time.Millisecond); steps > 1 {
						now = now.Add((steps - 1) * 20 * time.Millisecond)
					}
					continue
				}
				var won []call
				for i := range 20 { // at the instant of the trial
					c := call{account: "a", model: "m", request: uint64(hits*20 + i + 100), from: now}
					trial := w.trial(c)
					w.add(c.header(now), &events.TrialClaimed{Trial: trial})
					if w.granted(c, now) {
						c.step = trial.Step
						won = append(won, c)
					}
				}
				if len(won) != 1 || now < wall {
					t.Fatalf("at %s, park until %s: %d trials", now, wall, len(won))
				}
				hits++
				won[0].to = now.Add(5 * time.Millisecond)
				w.fail(won[0], of(class))
				wall = w.admit("a", "m", won[0].to).TrialAt
			}
			most := map[events.Class]int{events.ClassWindowExhausted: 7*48 + 4, events.ClassCreditsExhausted: 7, events.ClassAuthFailed: 28 + 8}[class]
			if hits == 0 || hits > most {
				t.Fatalf("%d hits in a week, at most %d", hits, most)
			}
			t.Logf("%d hits", hits)
		})
	}
}

// Seed 1: the console says exhausted for days, the upstream serves.
func Test_O2_O3_O5_O6_O7_O9_O10_O15_O58_O62_SeedConsoleSaysExhaustedUpstreamServes(t *testing.T) {
	weekly := func(w *world, at time.Duration) {
		win := events.Window{Name: "weekly", Used: events.Dec(40000), Limit: events.Dec(40000), UsedPercent: events.Dec(100 * events.DecimalUnit),
			Reached: events.Yes, ResetsAt: after(4 * day), Reported: true}
		w.reading("a", after(at), win)
	}
	t.Run("O2_the_same_reading_three_times_moves_nothing", func(t *testing.T) {
		w := newWorld(t, "a")
		for i := range 3 {
			weekly(w, time.Duration(i)*time.Minute)
			wantOut(t, w.admit("a", "m", after(time.Duration(i)*time.Minute)), events.ReasonWindowExhausted, after(30*time.Minute))
		}
	})
	t.Run("O3_a_snapshot_of_two_hours_ago_parks_nobody", func(t *testing.T) {
		w := newWorld(t, "a")
		weekly(w, -2*time.Hour)
		wantDue(t, w.admit("a", "m", epoch0))
	})
	t.Run("O5_a_deadline_in_the_past_is_a_trial_first", func(t *testing.T) { // there: open
		w := newWorld(t, "a")
		weekly(w, 0)
		weekly(w, 30*time.Minute)
		wantDue(t, w.admit("a", "m", after(30*time.Minute+time.Second)))
	})
	t.Run("O6_then_a_success_opens_it", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), of(events.ClassWindowExhausted))
		if w.admit("a", "m", after(time.Second)).Admitted {
			t.Fatal("a 429 parks")
		}
		w.ok(served("a", "m", 6*time.Minute, 6*time.Minute+time.Second))
		wantIn(t, w.admit("a", "m", after(7*time.Minute)))
	})
	t.Run("O7_newest_evidence_wins", func(t *testing.T) {
		w := newWorld(t, "a")
		w.ok(served("a", "m", 0, time.Second))
		w.fail(hit("a", "m", time.Minute), of(events.ClassWindowExhausted))
		if w.admit("a", "m", after(2*time.Minute)).Admitted {
			t.Fatal("a later 429 parks")
		}
	})
	t.Run("O9_without_an_override_it_is_cut_off", func(t *testing.T) {
		w := newWorld(t, "a")
		weekly(w, 0)
		wantOut(t, w.admit("a", "m", after(time.Minute)), events.ReasonWindowExhausted, after(30*time.Minute))
	})
	t.Run("O10_with_one_it_proceeds", func(t *testing.T) {
		w := newWorld(t, "a")
		w.ok(served("a", "m", -time.Minute, -30*time.Second))
		weekly(w, 0)
		wantIn(t, w.admit("a", "m", after(time.Minute)))
	})
	t.Run("O15_a_reading_with_room_reads_open", func(t *testing.T) {
		w := newWorld(t, "a")
		w.reading("a", epoch0, spent("session", after(5*time.Hour)))
		w.reading("a", after(time.Second), roomy("session", 100, after(5*time.Hour)))
		wantIn(t, w.admit("a", "m", after(time.Second)))
	})
	t.Run("O58_after_the_reset_it_is_a_trial_until_a_reading", func(t *testing.T) {
		w := newWorld(t, "a")
		w.reading("a", epoch0, spent("5h", after(10*time.Minute)))
		wantDue(t, w.admit("a", "m", after(10*time.Minute)))
		w.reading("a", after(11*time.Minute), roomy("5h", 100, after(5*time.Hour)))
		wantIn(t, w.admit("a", "m", after(11*time.Minute)))
	})
	t.Run("O62_an_empty_reading_erases_no_wall", func(t *testing.T) {
		w := newWorld(t, "a")
		w.reading("a", epoch0, spent("5h", after(10*time.Hour)))
		w.reading("a", after(time.Minute))
		w.reading("a", after(time.Minute), events.Window{Name: "5h", ResetsAt: after(10 * time.Hour)})
		if w.admit("a", "m", after(2*time.Minute)).Admitted {
			t.Fatal("erased")
		}
	})
}

// Seed 2: a 402 waits, the account is not asked again, the wall is frozen.
func TestSeedPaymentRequired(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.fail(hit("a", "m", 0), of(events.ClassCreditsExhausted))
	s := StatusOf(w.v, w.path("a", ""), &w.policy, after(time.Minute))
	if s.Verdict.State != WaitingReset || s.Recovery != "free" || s.Verdict.TrialAt != after(day) {
		t.Fatalf("%s %s", show(s.Verdict), s.Recovery)
	}
	wantIn(t, w.admit("b", "m", after(time.Minute)))
	wantDue(t, w.admit("a", "m", after(day)))
	if s := StatusOf(w.v, w.path("a", ""), &w.policy, after(day)); s.Verdict.State != Probing {
		t.Fatalf("%s", show(s.Verdict))
	}
}

// Seed 3: a spent budget stops admission by the one definition.
func Test_B004_B008_B17_B032_B034_B107_SeedCreditBudget(t *testing.T) {
	w := newWorld(t, "a")
	w.reading("a", epoch0, roomy("5h", 100, after(5*time.Hour)), roomy("7d", 49, after(5*day)))
	w.credit("a", after(time.Second), events.Credit{Reached: events.Yes, UsedPercent: events.Dec(20 * events.DecimalUnit), ResetsAt: after(30 * day)})
	d := w.admit("a", "m", after(time.Minute))
	wantOut(t, d, events.ReasonCreditExhausted, after(time.Second+30*time.Minute))
	if !d.OnClaims || !d.Soft || d.Until != after(30*day) { // B9_every_survivor_spent_is_the_last_path
		t.Fatalf("%s", show(d))
	}
	t.Run("B17_both_windows_exhausted_report_the_longest", func(t *testing.T) {
		w := newWorld(t, "a")
		w.reading("a", epoch0, spent("5h", after(5*time.Hour)), spent("7d", after(5*day)))
		if d := w.admit("a", "m", after(time.Minute)); d.Until != after(5*day) {
			t.Fatalf("%s", show(d))
		}
	})
	t.Run("B107_only_when_every_rejecting_window_has_passed", func(t *testing.T) {
		w := newWorld(t, "a")
		w.reading("a", epoch0, spent("5h", after(time.Second)), spent("7d", after(6*time.Second)))
		wantOut(t, w.admit("a", "m", after(2*time.Second)), events.ReasonWindowExhausted, after(6*time.Second))
		wantDue(t, w.admit("a", "m", after(7*time.Second)))
	})
	t.Run("B032_a_quota_429_is_tested_at_its_trial_and_a_reading_only_moves_until", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), stated(events.ClassWindowExhausted, after(4*day)))
		w.reading("a", after(time.Second), roomy("7d", 100, after(11*day)))
		wantOut(t, w.admit("a", "m", after(3*time.Second)), events.ReasonWindowExhausted, after(5*time.Minute))
	})
	t.Run("B008_scope_follows_the_evidence", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m1", 0), failure(of(events.ClassWindowExhausted)).scope("model:m1"))
		wantIn(t, w.admit("a", "m2", after(time.Second)))
		w.fail(hit("a", "m2", time.Second), of(events.ClassWindowExhausted))
		if w.admit("a", "m3", after(2*time.Second)).Admitted {
			t.Fatal("a plan-wide window")
		}
	})
	t.Run("B034_after_its_instant_a_park_is_half_open", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), stated(events.ClassRateLimited, after(time.Second)))
		if d := w.admit("a", "m", after(500*time.Millisecond)); d.State != Cooling {
			t.Fatalf("%s", show(d))
		}
		if d := w.admit("a", "m", after(2*time.Second)); d.State != HalfOpen || !d.Trial {
			t.Fatalf("%s", show(d))
		}
	})
	t.Run("B004_last_resort_tries_feed_no_streak", func(t *testing.T) {
		w := newWorld(t, "a")
		w.fail(hit("a", "m", 0), of(events.ClassRateLimited))
		for i := range 20 { // none of them is a trial
			w.fail(hit("a", "m", time.Duration(i)*10*time.Millisecond), of(events.ClassRateLimited))
		}
		if d := w.admit("a", "m", after(time.Second)); d.Step != 1 || d.TrialAt != after(5*time.Second+190*time.Millisecond) {
			t.Fatalf("%s", show(d))
		}
	})
}
