package routing

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// The event of a dispatch holds who was passed over: everybody but the path
// that was chosen, another path of the same account among them.
func TestAnEventHoldsWhoWasPassedOver(t *testing.T) {
	x := events.ReasonModelUnsupported
	d := Decision{Account: 2, Model: "second", Candidates: []Candidate{
		{Account: 1, Model: "first", Reason: x, Verdict: new(admission.Verdict)},
		{Account: 2, Model: "first", Reason: x, Verdict: new(admission.Verdict)},
		{Account: 2, Model: "second", Verdict: new(admission.Verdict)},
	}}
	var got []events.Reason
	for _, v := range d.Routed(&events.Stamp{}).Skipped {
		got = append(got, v.Reason)
	}
	if !slices.Equal(got, []events.Reason{x, x}) {
		t.Errorf("passed over for %v, want %v twice", got, x)
	}
}

func TestADecisionOfOneSkipsNobody(t *testing.T) {
	s := events.Stamp{DecidedAt: noon, Dialect: events.DialectOpenAI, Asked: "m"}
	d := Decide(roster(t, open(), "a x"), uuid.Nil, 1, &s, func(uint32) int64 { return 0 })
	if got := d.Routed(&s).Skipped; len(got) != 0 {
		t.Errorf("skipped %v, want nobody", got)
	}
}
