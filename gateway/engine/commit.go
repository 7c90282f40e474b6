package engine

import (
	"context"
	"fmt"

	"github.com/waybill/waybill/ledger"
)

// commit is the output commit of a decision or a refusal: what must be durable
// before anything of it leaves. The zero commit waits for nothing.
type commit struct {
	engine *Engine
	ticket *ledger.Ticket
	stall  <-chan struct{}
}

// commitOf is what a client's answer waits for: nothing in relaxed durability.
// e.mu is held.
func (e *Engine) commitOf(t *ledger.Ticket) commit {
	if e.relaxed {
		return commit{}
	}
	return commit{engine: e, ticket: t, stall: e.stall}
}

// wait returns when it is durable. A ledger that does not answer for maxStall
// is ErrLedger.
func (c *commit) wait(ctx context.Context) error {
	if c.ticket == nil {
		return nil
	}
	select {
	case <-c.ticket.Done():
	case <-ctx.Done():
		return ctx.Err()
	case <-c.stall:
		return fmt.Errorf("%w: the ledger has not answered for %s", ErrLedger, maxStall)
	}
	if err := c.ticket.Err(); err != nil {
		c.engine.noticed(err)
		return fmt.Errorf("%w: %w", ErrLedger, err)
	}
	return nil
}

// settledTicket returns when a ticket's events are durable and folded.
func (e *Engine) settledTicket(ctx context.Context, t *ledger.Ticket, what string) error {
	e.mu.Lock()
	c := commit{engine: e, ticket: t, stall: e.stall}
	e.mu.Unlock()
	if err := c.wait(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	evs, err := t.Wait(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return e.foldedTo(ctx, evs[len(evs)-1].Position)
}
