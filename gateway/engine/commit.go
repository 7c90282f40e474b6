package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// commit is the output commit of a decision or a refusal: what must be durable
// before anything of it leaves. The zero commit waits for nothing.
type commit struct {
	engine *Engine
	ticket *ledger.Ticket
	seq    uint64          // own number of the last event of it
	away   <-chan struct{} // closed when an outage begins; nil: the ticket is the spool's
}

// commitOf is what a client's answer waits for: nothing in relaxed durability.
// e.mu is held.
func (e *Engine) commitOf(t *ledger.Ticket) commit {
	if e.relaxed {
		return commit{}
	}
	return e.waitFor(t)
}

// waitFor is the commit of what was recorded just now. e.mu is held.
func (e *Engine) waitFor(t *ledger.Ticket) commit {
	c := commit{engine: e, ticket: t, seq: e.seq}
	if e.outage == nil {
		c.away = e.away
	}
	return c
}

// wait returns when it is durable: committed, or in the spool once the ledger
// has turned out to be away. ErrLedger: neither is possible.
func (c *commit) wait(ctx context.Context) error {
	if c.ticket == nil {
		return nil
	}
	select {
	case <-c.ticket.Done():
		err := c.ticket.Err()
		if err == nil {
			return nil
		}
		if errors.Is(err, ledger.ErrConflict) {
			return fmt.Errorf("%w: %w", ErrLedger, err)
		}
		c.engine.noticed(c, err)
	case <-ctx.Done():
		return ctx.Err()
	case <-c.away:
	}
	return c.engine.rescued(ctx, c.seq)
}

// events are what was recorded, once it is durable: with their places, unless
// they went through the spool.
func (c *commit) events(ctx context.Context, drafts []events.Draft) ([]events.Event, error) {
	select {
	case <-c.ticket.Done():
		if c.away != nil && c.ticket.Err() == nil {
			return c.ticket.Wait(ctx)
		}
	default: // the ledger still owes its answer: the spool has them
	}
	evs := make([]events.Event, len(drafts))
	for i := range drafts {
		evs[i] = drafts[i].Pending()
	}
	return evs, nil
}

// durable returns when what was recorded is durable, and folded unless it
// waits in the spool; spooled says that.
func (c *commit) durable(ctx context.Context, what string) (spooled bool, err error) {
	if err := c.wait(ctx); err != nil {
		return false, fmt.Errorf("%s: %w", what, err)
	}
	spooled, err = c.engine.foldedTo(ctx, c.seq)
	if err != nil {
		return false, fmt.Errorf("%s: %w", what, err)
	}
	return spooled, nil
}
