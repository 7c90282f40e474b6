package engine

import (
	"context"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/routing"
)

// claim is a trial.claimed of ours: the fold grants it at its position, or not.
type claim struct {
	account uint32
	header  events.Header
	trial   events.Trial
	commit  commit
}

// submitClaim appends the claim behind all own pending events. e.mu is held.
func (e *Engine) submitClaim(w *walk, d *routing.Decision) (*claim, error) {
	account := e.view.Admission.Roster()[d.Account-1]
	c := &claim{account: d.Account, trial: *d.Trial, header: events.Header{
		Account: account.ID, Epoch: account.Epoch, Model: d.Model, Request: w.ask.Request, Attempt: w.ask.Attempt,
	}}
	var err error
	c.commit, err = e.recorded(events.Draft{Header: c.header, Data: &events.TrialClaimed{Trial: c.trial}})
	return c, err
}

// settleClaim returns when the claim is durable and folded, so that the next
// decision stands at its position or beyond. A client that leaves meanwhile
// gives the slot back, and so does an outage: nobody claims then, and the next
// decision is one of that time.
func (e *Engine) settleClaim(ctx context.Context, w *walk, c *claim) error {
	w.claim = c
	spooled, err := c.commit.durable(ctx, "claim trial")
	if err == nil && !spooled {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if closeErr := e.giveUp(w); closeErr != nil {
		e.logger.Error("a claimed trial keeps its slot until its lease ends", "account", c.header.Account, "error", closeErr)
	}
	return err
}

// giveUp closes the slot as not dispatched. The event follows the claim in
// this writer's order, so it is right whether the claim was granted or void.
func (e *Engine) giveUp(w *walk) error {
	c := w.claim
	w.claim = nil
	_, err := e.record(ledger.Behind, events.Draft{Header: c.header, Data: &events.TrialClosed{Cells: c.trial.Cells, End: events.TrialNotDispatched}})
	return err
}

func (c *claim) granted(e *Engine, now events.Time) bool {
	return e.view.Admission.Granted(c.account, c.header.Request, c.header.Attempt, now)
}

// serves says that a decision is the dispatch that was claimed.
func (c *claim) serves(d *routing.Decision) bool {
	return d.Action == routing.Dispatch && d.Account == c.account && d.Trial != nil
}
