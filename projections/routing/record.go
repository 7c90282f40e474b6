package routing

import (
	"github.com/waybill/waybill/events"
)

// MaxInline is the longest list of verdicts that an event holds itself; a
// longer one is stored once as candidates.listed and referred to.
const MaxInline = 16

// Routed is the event of a decision to dispatch. When Long says so, the caller
// sets Listed to the position of a candidates.listed with what Verdicts gives.
func (d *Decision) Routed(s *events.Stamp) *events.AttemptRouted {
	e := &events.AttemptRouted{Stamp: *s, Chosen: d.Account, Strategy: d.Strategy, Weight: d.Weight, Trial: d.Trial,
		LastPath: d.LastPath, Unclaimed: d.Unclaimed, Pinned: d.Pinned}
	if !s.Session.IsZero() {
		e.Route = d.Route
	}
	if !d.Long() {
		e.Skipped = d.skipped()
	}
	return e
}

// Refused is the event of a refusal; Listed as for Routed.
func (d *Decision) Refused(s *events.Stamp) *events.RequestRefused {
	r := &d.Refusal
	e := &events.RequestRefused{Stamp: *s, Code: r.Code, Status: uint32(r.Status), RetryAfter: r.RetryAfter, RetrySource: r.RetrySource, Earliest: r.Earliest}
	if !d.Long() {
		e.Verdicts = d.Verdicts()
	}
	return e
}

// Long says that the candidates do not fit into the decision's own event.
func (d *Decision) Long() bool { return len(d.Candidates) > MaxInline }

// Verdicts are all candidates as candidates.listed and a refusal hold them, the
// chosen one included, so that decisions which differ in their choice alone
// share a list.
func (d *Decision) Verdicts() []events.Verdict {
	out := make([]events.Verdict, len(d.Candidates))
	for i := range d.Candidates {
		out[i] = d.Candidates[i].verdict()
	}
	return out
}

func (d *Decision) skipped() []events.Verdict {
	if len(d.Candidates) <= 1 {
		return nil
	}
	out := make([]events.Verdict, 0, len(d.Candidates)-1)
	chosen := false
	for i := range d.Candidates {
		c := &d.Candidates[i]
		if !chosen && c.Account == d.Account && c.Model == d.Model {
			chosen = true
			continue
		}
		out = append(out, c.verdict())
	}
	return out
}

func (c *Candidate) verdict() events.Verdict {
	return events.Verdict{Account: c.Account, Reason: c.Reason, Evidence: c.Verdict.Evidence}
}

// AfterSuccess is the pin event that a success of this decision calls for by
// R14, nil when none. v is the view at the success.
func AfterSuccess(v View, s *events.Stamp, d *Decision) events.Payload {
	if s.Session.IsZero() || s.Tie != 0 {
		return nil
	}
	doc, _ := v.Admission.Document()
	pin, ok := v.Pins.Of(s.Session, d.Route, &doc.Policy, s.DecidedAt)
	switch {
	case !ok:
		return &events.PinSet{Session: s.Session, Route: d.Route, Cause: "success"}
	case pin.Account == d.Account || pin.Account != d.Pin.Account || !d.Pin.Moves || d.LastPath:
		return nil
	}
	cause := d.Pin.Reason.String()
	if cause == "" {
		cause = d.Pin.Why
	}
	return &events.PinMoved{Session: s.Session, Route: d.Route, From: pin.Account, Cause: cause}
}
