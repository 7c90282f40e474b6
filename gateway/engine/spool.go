package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// During an outage what commits in order is the spool: events get their
// numbers, their place in it and their place in the overlay under the one
// lock, as with the ledger. What was under way when the outage began stands
// before them, so whatever the spool holds, it holds without a gap.

// divert records while the ledger takes nothing: in the spool, or, for an
// outcome that has none, in the overlay alone. What somebody awaits and nothing
// can take is refused and leaves no trace. e.mu is held.
func (e *Engine) divert(u ledger.Urgency, now events.Time, drafts []events.Draft) (*ledger.Ticket, error) {
	closed := errors.Is(e.outage, ledger.ErrClosed)
	if e.spool == nil || closed || e.spoilt != nil {
		if u == ledger.Awaited || closed {
			e.lists = lists{}
			return nil, fmt.Errorf("%w: %w", ErrLedger, errors.Join(e.outage, e.spoilt))
		}
		e.pend(now, drafts)
		return nil, nil
	}
	t := e.spool.Submit(u, drafts...)
	if err := t.Err(); err != nil {
		e.spoil(err)
		return e.divert(u, now, drafts)
	}
	e.kept = t
	e.pend(now, drafts)
	e.spooled = e.seq
	return t, nil
}

// spoolFolded submits an outcome that the overlay holds already. e.mu is held.
func (e *Engine) spoolFolded(d events.Draft) {
	if e.spool == nil || e.spoilt != nil {
		return // it is submitted with everything else that is kept
	}
	t := e.spool.Submit(ledger.Behind, d)
	if err := t.Err(); err != nil {
		e.spoil(err)
		return
	}
	e.kept, e.spooled = t, d.WriterSeq
}

// spoolReady says why the spool can take no decision, nil when it can. e.mu is
// held.
func (e *Engine) spoolReady() error {
	if e.spoilt != nil {
		return e.spoilt
	}
	if n := e.spool.Queued(); n > maxUnsettled {
		return fmt.Errorf("%d events wait for the spool's disk", n)
	}
	return e.spool.Room()
}

// respool submits everything of ours that is not known to be committed to the
// spool, in order. What it holds already is known by its id. e.mu is held.
func (e *Engine) respool() {
	e.spoilt = nil
	e.spool.Restart(e.writer)
	for kept := e.live.Pending(); len(kept) > 0; {
		drafts := draftsOf(kept[:min(len(kept), resubmitChunk)])
		kept = kept[len(drafts):]
		t := e.spool.Submit(ledger.Awaited, drafts...)
		if err := t.Err(); err != nil {
			e.spoil(err)
			return
		}
		e.kept = t
		e.spooled = max(e.spooled, drafts[len(drafts)-1].WriterSeq)
	}
}

// draftsOf makes drafts of own events that have their numbers.
func draftsOf(kept []events.Event) []events.Draft {
	drafts := make([]events.Draft, len(kept))
	for i := range drafts {
		drafts[i] = events.Draft{Header: kept[i].Header, Data: kept[i].Data}
	}
	return drafts
}

// spoil: the spool takes nothing either. Until it does no decision is made,
// and outcomes stay in the overlay. e.mu is held.
func (e *Engine) spoil(err error) {
	if e.spoilt != nil || e.outage == nil {
		return
	}
	e.spoilt = fmt.Errorf("spool: %w", err)
	e.lists = lists{}
	e.logger.Error("the spool takes no events; new requests are refused", "error", err)
}

// rescued returns when an own event is durable, wherever: what it was waited
// for in has failed, or does not answer.
func (e *Engine) rescued(ctx context.Context, seq uint64) error {
	for {
		e.mu.Lock()
		c := commit{engine: e, ticket: e.kept}
		var err error
		switch {
		case e.settled >= seq:
			e.mu.Unlock()
			return nil
		case e.outage == nil: // it has ended meanwhile: all is in the queue again
			c.ticket, c.away = e.newest, e.away
		case e.spool == nil || e.spoilt != nil || e.kept == nil:
			err = fmt.Errorf("%w: %w", ErrLedger, errors.Join(e.outage, e.spoilt))
		}
		e.mu.Unlock()
		if err != nil {
			return err
		}
		if done, err := c.settles(ctx); done || err != nil {
			return err
		}
	}
}

// settles waits for the ticket that an earlier event is durable with.
func (c *commit) settles(ctx context.Context) (done bool, err error) {
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-c.away:
		return false, nil
	case <-c.ticket.Done():
	}
	if err := c.ticket.Err(); err != nil {
		c.seq = ^uint64(0)
		c.engine.noticed(c, err)
		return false, nil
	}
	return true, nil
}

// tidy empties the spool once the ledger has all that it was given. e.mu is held.
func (e *Engine) tidy() {
	if e.spooled != 0 && e.settled >= e.spooled && e.outage == nil && !e.tidying {
		e.tidying = true
		e.begin(e.emptySpool)
	}
}

// emptySpool gives the spool's disk back once all that went there is in the
// ledger. A spool that has grown meanwhile is left to the end of that outage;
// one that cannot be emptied is harmless, every event in it is known.
func (e *Engine) emptySpool() {
	e.mu.Lock()
	kept := e.kept
	e.mu.Unlock()
	<-kept.Done()
	e.mu.Lock()
	e.tidying = false
	if e.outage != nil || e.settled < e.spooled {
		e.mu.Unlock()
		return
	}
	at, err := e.spool.Head(context.Background())
	e.spooled = 0
	e.mu.Unlock()
	emptied := false
	if err == nil {
		emptied, err = e.spool.Empty(at)
	}
	switch {
	case err != nil:
		e.logger.Warn("the spool could not be emptied; the next outage or start does it", "error", err)
	case emptied:
		e.logger.Info("everything in the spool is in the ledger; it is empty", "rows", at)
	}
}
