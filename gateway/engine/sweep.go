package engine

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/requests"
)

// claims collects, while the ledger is folded at start, the trials that were
// claimed for an attempt that was never routed. Whoever holds the writers'
// lock knows that nobody else will close them.
type claims map[attemptKey]events.Event

type attemptKey struct {
	request uuid.UUID
	attempt uint32
}

func (c claims) apply(ev *events.Event) {
	k := attemptKey{ev.Request, ev.Attempt}
	switch ev.Data.(type) {
	case *events.TrialClaimed:
		c[k] = *ev
	case *events.TrialClosed, *events.AttemptRouted:
		delete(c, k)
	}
}

// sweep is what closes that which former writers left open (I4): claimed
// trials as not dispatched, attempts without an outcome as lost.
func sweep(c claims, v *requests.View, now events.Time) []events.Draft {
	var drafts []events.Draft
	for _, ev := range c.inOrder() {
		drafts = append(drafts, about(&ev.Header, &events.TrialClosed{
			Cells: ev.Data.(*events.TrialClaimed).Trial.Cells, End: events.TrialNotDispatched,
		}))
	}
	for _, w := range v.OpenWriters() {
		for _, a := range v.OpenAttempts(w) {
			drafts = append(drafts, about(&a.Header, events.FailureEvent(lost(&a, now))))
		}
	}
	return drafts
}

// lost is the outcome of an attempt whose process died.
func lost(a *requests.OpenAttempt, now events.Time) events.Failure {
	f := events.Failure{Class: events.ClassLost, Rule: "class:lost"}
	f.Answer.DispatchedAt, f.Answer.AnsweredAt = min(a.DecidedAt, now), now
	if a.Trial != nil {
		f.Step = a.Trial.Step
	}
	return f
}

// about is a draft on the same account, request and attempt.
func about(h *events.Header, p events.Payload) events.Draft {
	return events.Draft{Data: p, Header: events.Header{
		Account: h.Account, Epoch: h.Epoch, Model: h.Model, Request: h.Request, Attempt: h.Attempt,
	}}
}

func (c claims) inOrder() []events.Event {
	out := make([]events.Event, 0, len(c))
	for _, ev := range c {
		out = append(out, ev)
	}
	slices.SortFunc(out, func(a, b events.Event) int { return int(int64(a.Position) - int64(b.Position)) })
	return out
}
