package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// errStalled: the ledger took events and does not answer.
var errStalled = fmt.Errorf("the ledger has not answered for %s", maxStall)

// beginOutage: the ledger refused an event, failed one that it had taken, or
// does not answer. Everything of ours that is not known to be committed goes to
// the spool first, in order; without a spool no decision is made until all of
// it has been appended. e.mu is held.
func (e *Engine) beginOutage(cause error) {
	if e.outage != nil {
		return
	}
	e.outage, e.since = cause, e.nowFunc()
	if errors.Is(cause, ledger.ErrBroken) {
		e.faulted(cause) // what cannot be what was appended must not be appended to
	}
	close(e.away)
	e.wake()
	if errors.Is(cause, ledger.ErrClosed) {
		e.lists = lists{}
		return
	}
	if e.spool != nil {
		e.logger.Error("the ledger takes no events; they go to the spool until it does", "error", cause)
		e.respool()
	} else {
		e.lists = lists{} // one may stand there that was not stored
		e.logger.Error("the ledger takes no events; new requests are refused until it does", "error", cause)
	}
	e.begin(e.recover)
}

// endOutage: everything of ours is in the ledger, or in its queue. e.mu is held.
func (e *Engine) endOutage(now events.Time) {
	e.outage, e.spoilt = nil, nil
	e.away = make(chan struct{})
	e.progress = now
	e.wake()
	e.tidy()
	e.logger.Info("the ledger takes events again", "after", now.Sub(e.since))
}

// noticed takes the failure of a ticket that somebody waited for.
func (e *Engine) noticed(c *commit, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.settled >= c.seq:
	case c.away == nil:
		e.spoil(err)
	default:
		e.beginOutage(err)
	}
}

// watch looks, while anything is under way, whether the ledger answers. One
// timer does it for all who wait, and for outcomes that nobody waits for. e.mu
// is held.
func (e *Engine) watch() {
	if !e.watching {
		e.watching = true
		time.AfterFunc(maxStall/5, e.look)
	}
}

func (e *Engine) look() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watching = false
	if e.seq == e.settled || e.outage != nil || e.life.Err() != nil {
		return
	}
	if err := e.newest.Err(); err != nil {
		e.beginOutage(err)
		return
	}
	if e.nowFunc().Sub(e.progress) >= maxStall {
		e.beginOutage(errStalled)
		return
	}
	e.watch()
}

// Outage is how things stand while the ledger takes no events.
type Outage struct {
	Since  events.Time
	Cause  error
	Events int   // own ones that wait for the ledger
	Bytes  int64 // that the spool takes; 0 without one
	Max    int64 // of Bytes
	Err    error // why no decision can be recorded meanwhile; nil: the spool takes them
}

// AwaitOutage returns when the ledger is away, or when it no longer is.
func (e *Engine) AwaitOutage(ctx context.Context, away bool) (Outage, error) {
	err := e.until(ctx, func() bool { return (e.outage != nil) == away })
	o, _ := e.Outage()
	return o, err
}

// Outage says whether the ledger is away, and what waits for it.
func (e *Engine) Outage() (o Outage, away bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.spool != nil {
		o.Bytes, o.Max = e.spool.Size(), e.spool.Max()
	}
	if e.outage == nil {
		return o, false
	}
	o.Since, o.Cause, o.Events, o.Err = e.since, e.outage, len(e.live.Pending()), e.ready()
	return o, true
}
