package admission

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

func hit(account, model string, at time.Duration) call {
	return call{account: account, model: model, from: after(at - 100*time.Millisecond), to: after(at)}
}

func stepped(c call, step uint32) call { c.step = step; return c }

func Test_B002_B052_B053_O29_O55_O61_R7_RateLimits(t *testing.T) {
	week := after(7 * day)
	for _, r := range []struct {
		name         string
		setup        func(w *world)
		reason       events.Reason
		scope        string
		until, trial time.Duration
	}{
		{"O29_a_bare_429_is_a_burst_of_the_model", func(w *world) { w.fail(hit("a", "m", 0), of(events.ClassRateLimited)) },
			events.ReasonRateLimited, "model:m", 5 * time.Second, 5 * time.Second},
		{"a burst's wait doubles per step", func(w *world) { w.fail(stepped(hit("a", "m", 0), 4), of(events.ClassRateLimited)) },
			events.ReasonRateLimited, "model:m", 40 * time.Second, 40 * time.Second},
		{"a burst's wait is capped", func(w *world) { w.fail(stepped(hit("a", "m", 0), 31), of(events.ClassRateLimited)) },
			events.ReasonRateLimited, "model:m", 30 * time.Minute, 30 * time.Minute},
		{"a burst's hint is obeyed", func(w *world) { w.fail(hit("a", "m", 0), stated(events.ClassRateLimited, after(20*time.Second))) },
			events.ReasonRateLimited, "model:m", 20 * time.Second, 20 * time.Second},
		{"B052_a_hint_in_the_past_is_one_second", func(w *world) { w.fail(hit("a", "m", 0), stated(events.ClassRateLimited, after(-time.Hour))) },
			events.ReasonRateLimited, "model:m", time.Second, time.Second},
		{"B053_a_huge_hint_is_the_ceiling", func(w *world) { w.fail(hit("a", "m", 0), stated(events.ClassRateLimited, after(400*day))) },
			events.ReasonRateLimited, "model:m", 400 * day, 30 * time.Minute},
		{"O55_a_weekly_wall_has_two_instants", func(w *world) { w.fail(hit("a", "m", 0), stated(events.ClassWindowExhausted, week)) },
			events.ReasonWindowExhausted, "account", 7 * day, 5 * time.Minute},
		{"B002_a_predicted_reset_is_tested_at_the_park", func(w *world) {
			w.fail(hit("a", "m", 0), stated(events.ClassWindowExhausted, after(561600*time.Second)))
		}, events.ReasonWindowExhausted, "account", 561600 * time.Second, 5 * time.Minute},
		{"an early reset is tested then", func(w *world) { w.fail(hit("a", "m", 0), stated(events.ClassWindowExhausted, after(time.Minute))) },
			events.ReasonWindowExhausted, "account", time.Minute, time.Minute},
		{"O61_a_quota_429_without_a_reset_is_tested_after_5_min", func(w *world) { w.fail(hit("a", "m", 0), of(events.ClassWindowExhausted)) },
			events.ReasonWindowExhausted, "account", 5 * time.Minute, 5 * time.Minute},
		{"its step doubles the wait up to the cap", func(w *world) { w.fail(stepped(hit("a", "m", 0), 3), of(events.ClassWindowExhausted)) },
			events.ReasonWindowExhausted, "account", 20 * time.Minute, 20 * time.Minute},
		{"step 9 is the cap", func(w *world) { w.fail(stepped(hit("a", "m", 0), 9), of(events.ClassWindowExhausted)) },
			events.ReasonWindowExhausted, "account", 30 * time.Minute, 30 * time.Minute},
		{"without a reset it has the latest that readings show", func(w *world) {
			w.reading("a", after(-time.Minute), spent("5h", after(3*time.Hour)), spent("7d", week), roomy("30d", 5, after(20*day)))
			w.fail(hit("a", "m", 0), of(events.ClassWindowExhausted))
		}, events.ReasonWindowExhausted, "account", 7 * day, 5 * time.Minute},
		{"a guessed reset is not a stated one", func(w *world) {
			f := stated(events.ClassWindowExhausted, after(time.Minute))
			f.Hint.Guessed = true
			w.fail(hit("a", "m", 0), f)
		}, events.ReasonWindowExhausted, "account", 5 * time.Minute, 5 * time.Minute},
	} {
		t.Run(r.name, func(t *testing.T) {
			w := newWorld(t, "a")
			r.setup(w)
			d := w.admit("a", "m", after(time.Millisecond))
			if d.Reason != r.reason || d.Scope.String() != r.scope || d.Until != after(r.until) || d.TrialAt != after(r.trial) {
				t.Fatalf("%s", show(d))
			}
		})
	}
}

func TestR7_ABurstTouchesNeitherQuotaNorOverride(t *testing.T) {
	w := newWorld(t, "a")
	w.ok(served("a", "m", 0, time.Second))
	w.reading("a", after(2*time.Second), spent("7d", after(4*day)))
	w.fail(hit("a", "m", 3*time.Second), of(events.ClassRateLimited))
	wantIn(t, w.admit("a", "other", after(4*time.Second)))
	wantOut(t, w.admit("a", "m", after(4*time.Second)), events.ReasonRateLimited, after(8*time.Second))
	d := w.admit("a", "m", after(9*time.Second))
	if wantDue(t, d); d.Durable {
		t.Fatal("a rate cell's trial is claimed by its own attempt")
	}
}

// Precedence: of what stands, the strongest is the reason shown.
func TestPrecedence(t *testing.T) {
	w := newWorld(t, "a")
	w.policy.HealthThreshold = 1
	for _, r := range []struct {
		reason events.Reason
		add    func()
	}{
		{events.ReasonWindowExhausted, func() { w.reading("a", epoch0, spent("7d", after(9*day))) }},
		{events.ReasonCoolingDown, func() { w.fail(hit("a", "m", 0), of(events.ClassServerError)) }},
		{events.ReasonRateLimited, func() { w.fail(hit("a", "m", time.Millisecond), of(events.ClassRateLimited)) }},
		{events.ReasonWindowExhausted, func() { w.fail(hit("a", "m", 2*time.Millisecond), of(events.ClassWindowExhausted)) }},
		{events.ReasonPaymentRequired, func() { w.fail(hit("a", "m", 3*time.Millisecond), of(events.ClassCreditsExhausted)) }},
		{events.ReasonAuthFailed, func() { w.fail(hit("a", "m", 4*time.Millisecond), of(events.ClassAuthFailed)) }},
		{events.ReasonDrained, func() {
			w.add(events.Header{Account: "a", ObservedAt: after(5 * time.Millisecond)}, &events.OperatorDrained{})
		}},
	} {
		r.add()
		d := w.admit("a", "m", after(time.Second))
		if d.Reason != r.reason || d.Admitted || d.Trial {
			t.Fatalf("%s, want %s", show(d), r.reason)
		}
	}
}

func TestR13_TwentyParallel429AreOneStep(t *testing.T) {
	w := newWorld(t, "a")
	for i := range 20 {
		w.fail(hit("a", "m", time.Duration(i)*time.Millisecond), of(events.ClassWindowExhausted))
	}
	d := w.admit("a", "m", after(time.Second))
	if d.Step != 1 || d.TrialAt != after(5*time.Minute+19*time.Millisecond) {
		t.Fatalf("step %d, %s", d.Step, show(d))
	}
}

func TestR13_AShortMarkNeverReplacesALongOne(t *testing.T) {
	w := newWorld(t, "a")
	w.fail(stepped(hit("a", "m", 0), 9), of(events.ClassRateLimited))
	w.fail(hit("a", "m", time.Second), stated(events.ClassRateLimited, after(6*time.Second)))
	if d := w.admit("a", "m", after(2*time.Second)); d.TrialAt != after(5*time.Second*256) {
		t.Fatalf("%s", show(d))
	}
}

func Test_G17_G18_G43_R8_Payment(t *testing.T) {
	end := after(10 * day)
	wall := func(w *world, f events.Failure) { w.fail(hit("a", "m", 0), f) }
	for _, r := range []struct {
		name  string
		setup func(w *world)
		until events.Time
		kind  string
	}{
		{"G17_no_billing_row_is_free_and_24h", func(w *world) { wall(w, of(events.ClassCreditsExhausted)) }, after(day), "free"},
		{"G43_a_period_end_ahead_wins", func(w *world) {
			w.billing("a", after(-time.Hour), events.Billing{Plan: events.PlanPaid, PeriodEnd: end})
			wall(w, stated(events.ClassCreditsExhausted, after(time.Hour)))
		}, end, "paid"},
		{"a period that has ended says nothing", func(w *world) {
			w.billing("a", after(-time.Hour), events.Billing{Plan: events.PlanPaid, PeriodEnd: after(-time.Minute)})
			wall(w, of(events.ClassCreditsExhausted))
		}, after(day), "paid"},
		{"the newest billing reading before the fact counts", func(w *world) {
			w.billing("a", after(-2*time.Hour), events.Billing{Plan: events.PlanPaid, PeriodEnd: after(5 * day)})
			w.billing("a", after(-time.Hour), events.Billing{Plan: events.PlanFree, PeriodEnd: end})
			wall(w, of(events.ClassCreditsExhausted))
		}, end, "free"},
		{"a later billing reading moves nothing", func(w *world) {
			wall(w, of(events.ClassCreditsExhausted))
			w.billing("a", after(time.Minute), events.Billing{Plan: events.PlanPaid, PeriodEnd: end})
		}, after(day), "paid"},
		{"G18_the_stated_reset_is_next", func(w *world) { wall(w, stated(events.ClassCreditsExhausted, after(2*time.Hour))) }, after(2 * time.Hour), "free"},
		{"a calendar rule counts as stated", func(w *world) {
			f := stated(events.ClassCreditsExhausted, after(3*time.Hour))
			f.Hint.Guessed, f.Hint.Source = true, "calendar:midnight"
			wall(w, f)
		}, after(3 * time.Hour), "free"},
		{"a reset guessed from wording does not", func(w *world) {
			f := stated(events.ClassCreditsExhausted, after(3*time.Hour))
			f.Hint.Guessed, f.Hint.Source = true, "message:soon"
			wall(w, f)
		}, after(day), "free"},
		{"Retry-After 0 is no reason to ask an empty account at once", func(w *world) { wall(w, stated(events.ClassCreditsExhausted, epoch0)) }, after(day), "free"},
	} {
		t.Run(r.name, func(t *testing.T) {
			w := newWorld(t, "a")
			r.setup(w)
			s := StatusOf(w.v, w.path("a", "m"), &w.policy, after(2*time.Minute))
			if d := s.Verdict; d.Until != r.until || d.TrialAt != r.until || d.State != WaitingReset || d.Reason != events.ReasonPaymentRequired {
				t.Fatalf("%s", show(d))
			}
			if s.Recovery != r.kind {
				t.Fatalf("recovery %q, want %q", s.Recovery, r.kind)
			}
		})
	}
}

func TestR8_FromStepTwoOnItIsTestedEveryRecovery(t *testing.T) {
	w := newWorld(t, "a")
	w.billing("a", after(-time.Hour), events.Billing{Plan: events.PlanPaid, PeriodEnd: after(30 * day)})
	w.fail(stepped(hit("a", "m", 0), 2), of(events.ClassCreditsExhausted))
	d := w.admit("a", "m", after(time.Hour))
	if d.Until != after(30*day) || d.TrialAt != after(day) {
		t.Fatalf("%s", show(d))
	}
}

func TestR8_CreditMakesTheTrialDueOncePerWall(t *testing.T) {
	for _, c := range []struct {
		name string
		c    events.Credit
		due  bool
	}{
		{"available", events.Credit{Available: events.Yes}, true},
		{"not reached", events.Credit{Reached: events.No}, true},
		{"not reached but not available", events.Credit{Reached: events.No, Available: events.No}, false},
		{"a percentage alone", events.Credit{UsedPercent: events.Dec(0)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "a")
			w.credit("a", after(-time.Minute), c.c)
			w.fail(hit("a", "m", 0), of(events.ClassCreditsExhausted))
			if w.admit("a", "m", after(time.Minute)).Trial {
				t.Fatal("an earlier reading made the trial due")
			}
			w.credit("a", after(2*time.Minute), c.c)
			if d := w.admit("a", "m", after(2*time.Minute)); d.Trial != c.due {
				t.Fatalf("%s", show(d))
			}
			w.fail(stepped(hit("a", "m", 3*time.Minute), 2), of(events.ClassCreditsExhausted))
			w.credit("a", after(4*time.Minute), c.c)
			if w.admit("a", "m", after(4*time.Minute)).Trial {
				t.Fatal("due again at step 2")
			}
		})
	}
}

func TestAReadingThatIsSpentWithoutAResetAheadAsksAgain(t *testing.T) {
	reading := func(c *events.Credit, w ...events.Window) events.Payload {
		return &events.QuotaFetched{Reading: events.Reading{Source: "test", Windows: w, Credit: c}}
	}
	for _, r := range []struct {
		name string
		data events.Payload
		want bool
	}{
		{"no reading", &events.OperatorDrained{}, false},
		{"a window with something left", reading(nil, roomy("5h", 1, 0)), false},
		{"a spent window with a reset ahead", reading(nil, spent("5h", after(time.Hour))), false},
		{"a spent window with none", reading(nil, spent("5h", 0)), true},
		{"a spent window with one that is over", reading(nil, spent("5h", after(-time.Hour))), true},
		{"a spent window that gates nothing", reading(nil, scoped(spent("tools", 0), "none")), false},
		{"a budget with something left", reading(&events.Credit{Reached: events.No}), false},
		{"a reached budget with a reset ahead", reading(&events.Credit{Reached: events.Yes, ResetsAt: after(time.Hour)}), false},
		{"a reached budget with none", reading(&events.Credit{Reached: events.Yes}), true},
		{"the second of two windows", reading(&events.Credit{}, roomy("5h", 1, 0), spent("7d", 0)), true},
	} {
		t.Run(r.name, func(t *testing.T) {
			if got := AsksAgain(&events.Event{Header: events.Header{ObservedAt: epoch0}, Data: r.data}); got != r.want {
				t.Errorf("asks again: %v, want %v", got, r.want)
			}
		})
	}
}

func TestR8_AModelsWallIsTheModels(t *testing.T) {
	w := newWorld(t, "a")
	w.fail(hit("a", "m", 0), failure(of(events.ClassCreditsExhausted)).scope("model:m"))
	wantOut(t, w.admit("a", "m", after(time.Second)), events.ReasonPaymentRequired, after(day))
	wantIn(t, w.admit("a", "n", after(time.Second)))
	wantIn(t, w.admit("a", "", after(time.Second)))
	r := Explain(w.v, w.path("a", ""), &w.policy, after(time.Second))
	if len(r) != 1 || r[0].Blocking || r[0].State != "walled" {
		t.Fatalf("asked without a model, narrower parks stand in the cells: %+v", r)
	}
}

func Test_B1_B2_B3_R10_CreditBudgets(t *testing.T) {
	month := after(30 * day)
	model := func(m string, available, enable events.OptBool) events.ModelCredit {
		return events.ModelCredit{Model: m, Available: available, CreditsWouldEnable: enable}
	}
	for _, r := range []struct {
		name   string
		credit events.Credit
		out    bool
	}{
		{"B1_a_reached_budget_exhausts", events.Credit{Reached: events.Yes, ResetsAt: month}, true},
		{"B2_reached_without_a_reset_fails_open", events.Credit{Reached: events.Yes}, false},
		{"B2_reached_with_a_past_reset_fails_open", events.Credit{Reached: events.Yes, ResetsAt: after(-time.Hour)}, false},
		{"B3_not_reached_with_nothing_left_is_retained", events.Credit{Reached: events.No, UsedPercent: events.Dec(100 * events.DecimalUnit), ResetsAt: month}, false},
		{"a percentage alone never exhausts", events.Credit{UsedPercent: events.Dec(100 * events.DecimalUnit), ResetsAt: month}, false},
		{"a list without the model leaves it", events.Credit{Reached: events.Yes, ResetsAt: month, Models: []events.ModelCredit{model("x", events.No, 0)}}, false},
		{"a listed model that is not available parks", events.Credit{Reached: events.Yes, ResetsAt: month, Models: []events.ModelCredit{model("M", events.No, 0)}}, true},
		{"credits would enable it", events.Credit{Reached: events.Yes, ResetsAt: month, Models: []events.ModelCredit{model("m", 0, events.Yes)}}, true},
		{"credits would enable it but it is available", events.Credit{Reached: events.Yes, ResetsAt: month, Models: []events.ModelCredit{model("m", events.Yes, events.Yes)}}, false},
		{"listed and nothing said", events.Credit{Reached: events.Yes, ResetsAt: month, Models: []events.ModelCredit{model("m", 0, 0)}}, false},
	} {
		t.Run(r.name, func(t *testing.T) {
			w := newWorld(t, "a", "b")
			w.credit("a", epoch0, r.credit)
			d := w.admit("a", "m", after(time.Second))
			if d.Admitted == r.out {
				t.Fatalf("%s", show(d))
			}
			if r.out {
				wantOut(t, d, events.ReasonCreditExhausted, after(30*time.Minute))
			}
			wantIn(t, w.admit("b", "m", after(time.Second))) // B5_no_spend_control: as before
		})
	}
	t.Run("the newest reading of the budget counts", func(t *testing.T) {
		w := newWorld(t, "a")
		w.credit("a", epoch0, events.Credit{Reached: events.Yes, ResetsAt: month, Models: []events.ModelCredit{model("m", events.No, 0)}})
		w.credit("a", after(time.Minute), events.Credit{Reached: events.Yes, ResetsAt: month, Models: []events.ModelCredit{model("n", events.No, 0)}})
		wantIn(t, w.admit("a", "m", after(2*time.Minute)))
		if w.admit("a", "n", after(2*time.Minute)).Admitted {
			t.Fatal("n is closed")
		}
	})
}
