package engine

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// open collects, while the ledger is folded at start, the attempts that got no
// outcome and the trials that were claimed for an attempt that was never
// routed. Whoever holds the writers' lock knows that nobody else will close
// them (I4).
type open struct {
	attempts map[attemptKey]events.Event
	claims   map[attemptKey]events.Event
}

type attemptKey struct {
	request uuid.UUID
	attempt uint32
}

func newOpen() *open {
	return &open{attempts: map[attemptKey]events.Event{}, claims: map[attemptKey]events.Event{}}
}

func (o *open) apply(ev *events.Event) {
	k := attemptKey{ev.Request, ev.Attempt}
	switch ev.Data.(type) {
	case *events.AttemptRouted:
		o.attempts[k] = *ev
		delete(o.claims, k)
	case *events.AttemptSucceeded, *events.AttemptRateLimited, *events.AttemptPaymentRequired, *events.AttemptFailed, *events.AttemptAborted:
		delete(o.attempts, k)
	case *events.TrialClaimed:
		o.claims[k] = *ev
	case *events.TrialClosed:
		delete(o.claims, k)
	}
}

// close is what closes them, in the order in which they were opened.
func (o *open) close(now events.Time) []events.Draft {
	var drafts []events.Draft
	for _, ev := range inOrder(o.claims) {
		drafts = append(drafts, reply(ev, &events.TrialClosed{Cells: ev.Data.(*events.TrialClaimed).Trial.Cells, End: events.TrialNotDispatched}))
	}
	for _, ev := range inOrder(o.attempts) {
		drafts = append(drafts, reply(ev, events.FailureEvent(lost(ev.Data.(*events.AttemptRouted), now))))
	}
	return drafts
}

// lost is the outcome of an attempt whose process died.
func lost(routed *events.AttemptRouted, now events.Time) events.Failure {
	f := events.Failure{Class: events.ClassLost, Rule: "class:lost"}
	f.Answer.DispatchedAt, f.Answer.AnsweredAt = min(routed.Stamp.DecidedAt, now), now
	if routed.Trial != nil {
		f.Step = routed.Trial.Step
	}
	return f
}

// reply is a draft about the same account, request and attempt.
func reply(ev events.Event, p events.Payload) events.Draft {
	return events.Draft{Data: p, Header: events.Header{
		Account: ev.Account, Epoch: ev.Epoch, Model: ev.Model, Request: ev.Request, Attempt: ev.Attempt,
	}}
}

func inOrder(m map[attemptKey]events.Event) []events.Event {
	out := make([]events.Event, 0, len(m))
	for _, ev := range m {
		out = append(out, ev)
	}
	slices.SortFunc(out, func(a, b events.Event) int { return int(int64(a.Position) - int64(b.Position)) })
	return out
}
