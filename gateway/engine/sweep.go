package engine

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/opening"
	"github.com/waybill/waybill/projections/requests"
)

// sweep is what closes that which former writers left open (I4): claimed
// trials as not dispatched, attempts without an outcome and requests between
// two attempts as lost.
func sweep(claims []opening.Claim, v *requests.View, now events.Time) []events.Draft {
	var drafts []events.Draft
	for _, c := range claims {
		h := events.Header{Account: c.Account, Epoch: c.Epoch, Model: c.Model, Request: c.Request, Attempt: c.Attempt}
		drafts = append(drafts, about(&h, &events.TrialClosed{Cells: c.Cells, End: events.TrialNotDispatched}))
	}
	for _, w := range v.OpenWriters() {
		drafts = append(drafts, leftOpen(v, w, now)...)
	}
	return drafts
}

// leftOpen closes the attempts and requests of one dead writer.
func leftOpen(v *requests.View, writer uuid.UUID, now events.Time) (drafts []events.Draft) {
	for _, a := range v.OpenAttempts(writer) {
		drafts = append(drafts, about(&a.Header, events.FailureEvent(lost(&a, now))))
	}
	for _, r := range v.Searching(writer) {
		drafts = append(drafts, events.Draft{Header: events.Header{Request: r}, Data: &events.RequestEnded{Class: events.ClassLost}})
	}
	return drafts
}

// sweepEvery is how often the writers with open attempts are looked at.
const sweepEvery = 10 * time.Second

// sweepDead closes what other writers leave open when they die, until ctx
// ends. A trial that one of them claimed ends with its lease.
func (e *Engine) sweepDead(ctx context.Context, w ledger.Writers) {
	for ; ctx.Err() == nil; ledger.Rest(ctx, sweepEvery) {
		for _, writer := range e.otherWriters() { // none during an outage: who lives cannot be asked then
			dead, err := w.TakeOver(ctx, writer, func(ctx context.Context) error { return e.closeWriter(ctx, writer) })
			switch {
			case err != nil && ctx.Err() == nil:
				e.logger.Warn("a writer with open attempts cannot be looked at", "writer", writer, "error", err)
			case dead && err == nil:
				e.logger.Info("closed what another process left open", "writer", writer)
			}
		}
	}
}

// otherWriters are those with attempts open.
func (e *Engine) otherWriters() []uuid.UUID {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.outage != nil {
		return nil
	}
	return slices.DeleteFunc(e.requests.OpenWriters(), func(w uuid.UUID) bool { return w == e.writer })
}

// closeWriter catches up with all that the dead writer has committed, and
// closes what is still open then.
func (e *Engine) closeWriter(ctx context.Context, writer uuid.UUID) error {
	h, err := e.log.Head(ctx)
	if err != nil {
		return err
	}
	if err := e.standsAt(ctx, h.Position); err != nil {
		return err
	}
	e.mu.Lock()
	drafts := leftOpen(e.requests, writer, e.nowFunc())
	if len(drafts) == 0 || e.outage != nil {
		e.mu.Unlock()
		return nil
	}
	c, err := e.recorded(drafts...)
	e.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = c.durable(ctx, "close what another process left open")
	return err
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
