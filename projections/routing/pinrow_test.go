package routing

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// The table of R14, row by row. "Nobody else admitted" and the hard tie are
// transcripts: they are no property of the pinned account.
func Test_A19_R14_O50_O51_O53_A17_A18_B14_B15_B31_the_pin_table(t *testing.T) {
	blocked := func(r events.Reason, axis events.Axis, wait time.Duration) *admission.Verdict {
		return &admission.Verdict{Reason: r, Axis: axis, TrialAt: noon.Add(wait)}
	}
	admitted := &admission.Verdict{Admitted: true}
	trying := func(axis events.Axis) *admission.Verdict {
		return blocked(events.ReasonTrialInProgress, axis, -time.Minute)
	}
	const short, long = 5 * time.Minute, 5*time.Minute + time.Microsecond
	for _, row := range []struct {
		name   string
		plight plight
		course Course
		moves  bool
	}{
		{"window claim", plight{verdict: blocked(events.ReasonWindowExhausted, events.AxisWindow, time.Minute)}, Elsewhere, true},
		{"credit claim", plight{verdict: blocked(events.ReasonCreditExhausted, events.AxisCredit, time.Minute)}, Elsewhere, true},
		{"A18_quota_429_in_this_request", plight{verdict: blocked(events.ReasonWindowExhausted, events.AxisWindow, time.Minute), tried: true}, Elsewhere, true},
		{"O51_payment", plight{verdict: blocked(events.ReasonPaymentRequired, events.AxisPayment, time.Hour)}, Elsewhere, true},
		{"A17_B14_401_after_refresh", plight{verdict: blocked(events.ReasonAuthFailed, events.AxisAuth, time.Minute), tried: true}, Elsewhere, true},
		{"O51_forbidden", plight{verdict: &admission.Verdict{Reason: events.ReasonAuthFailed, Axis: events.AxisAuth}}, Elsewhere, true},
		{"drained", plight{verdict: blocked(events.ReasonDrained, events.AxisOperator, 0)}, Elsewhere, true},
		{"operator park", plight{verdict: blocked(events.ReasonParkedByOperator, events.AxisOperator, time.Hour)}, Elsewhere, true},
		{"retired or no longer of the route", plight{}, Elsewhere, true},
		{"due with its slot free", plight{verdict: &admission.Verdict{Trial: true, Reason: events.ReasonWindowExhausted, Axis: events.AxisWindow, TrialAt: noon}}, OwnTrial, false},
		{"its own trial has failed in this request", plight{verdict: &admission.Verdict{Trial: true, Reason: events.ReasonCoolingDown}, tried: true}, Elsewhere, false},
		{"model unsupported", plight{verdict: blocked(events.ReasonModelUnsupported, events.AxisAuth, time.Hour)}, Elsewhere, false},
		{"slot of a window taken", plight{verdict: trying(events.AxisWindow)}, Elsewhere, true},
		{"slot of a credit budget taken", plight{verdict: trying(events.AxisCredit)}, Elsewhere, true},
		{"slot of a payment wall taken", plight{verdict: trying(events.AxisPayment)}, Elsewhere, true},
		{"slot of an auth park taken", plight{verdict: trying(events.AxisAuth)}, Elsewhere, true},
		{"slot of a burst taken", plight{verdict: trying(events.AxisRate)}, Elsewhere, false},
		{"slot of a cooldown taken", plight{verdict: trying(events.AxisHealth)}, Elsewhere, false},
		{"burst up to rate_limit_park", plight{verdict: blocked(events.ReasonRateLimited, events.AxisRate, short)}, Elsewhere, false},
		{"burst longer than that", plight{verdict: blocked(events.ReasonRateLimited, events.AxisRate, long)}, Elsewhere, true},
		{"cooldown up to rate_limit_park", plight{verdict: blocked(events.ReasonCoolingDown, events.AxisHealth, short)}, Elsewhere, false},
		{"cooldown longer than that", plight{verdict: blocked(events.ReasonCoolingDown, events.AxisHealth, short+time.Second)}, Elsewhere, true},
		{"B15_5xx_network_broken_stream_in_this_request", plight{verdict: admitted, tried: true}, Elsewhere, false},
		{"O50_saturated", plight{verdict: admitted, saturated: true}, WaitThenBorrow, false},
		{"A19_its_last_answer_was_a_200_whose_headers_show_exhaustion", plight{verdict: admitted, spent: true}, Roomier, true},
		{"O53_no_reading_or_a_malformed_one", plight{verdict: admitted}, Own, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			policy := events.DefaultPolicy()
			row.plight.policy, row.plight.now = &policy, noon
			got := rowOf(&row.plight)
			if got.Course != row.course || got.Moves != row.moves {
				t.Errorf("row %q: course %d, moves %v; want %d, %v", got.Why, got.Course, got.Moves, row.course, row.moves)
			}
		})
	}
}
