package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

const (
	// resubmitChunk is how many kept events are submitted at a time.
	resubmitChunk = 1000
	// resubmitMax bounds the pause between two tries.
	resubmitMax = time.Second
)

// beginOutage: the ledger refused an event, or failed one that it had taken.
// No decision is made until everything kept has been appended, in order. e.mu
// is held.
func (e *Engine) beginOutage(cause error) {
	if e.outage != nil {
		return
	}
	e.outage = cause
	e.lists = lists{} // one may stand there that was not stored
	e.logger.Error("the ledger takes no events; new requests are refused until it does", "error", cause)
	if !errors.Is(cause, ledger.ErrClosed) {
		e.recovering.Go(e.recover)
	}
}

// keep holds an outcome until the ledger is back, and refuses anything else.
func (e *Engine) keep(u ledger.Urgency, now events.Time, drafts []events.Draft) error {
	if u == ledger.Awaited || errors.Is(e.outage, ledger.ErrClosed) {
		e.lists = lists{}
		return fmt.Errorf("%w: %w", ErrLedger, e.outage)
	}
	e.pend(now, drafts)
	return nil
}

// recover submits what is kept until nothing is left.
func (e *Engine) recover() {
	e.mu.Lock()
	newest := e.newest
	e.mu.Unlock()
	if newest != nil { // what the queue still holds must be settled first
		_ = e.settledTicket(e.life, newest, "settle")
	}
	for pause := 10 * time.Millisecond; e.life.Err() == nil; pause = min(2*pause, resubmitMax) {
		done, err := e.resubmit()
		switch {
		case done:
			e.logger.Info("the ledger takes events again; everything kept is appended")
			return
		case err == nil:
			pause = 10 * time.Millisecond
		default:
			rest(e.life, pause)
		}
	}
}

// resubmit appends the oldest kept events under the ids and numbers that they
// have: a commit whose outcome was unknown is harmless to repeat.
func (e *Engine) resubmit() (done bool, err error) {
	e.mu.Lock()
	kept := e.live.Pending()
	if len(kept) == 0 {
		e.outage = nil
		e.wake()
		e.mu.Unlock()
		return true, nil
	}
	drafts := make([]events.Draft, min(len(kept), resubmitChunk))
	for i := range drafts {
		drafts[i] = events.Draft{Header: kept[i].Header, Data: kept[i].Data}
	}
	t := e.log.Submit(ledger.Awaited, drafts...)
	e.mu.Unlock()
	return false, e.settledTicket(e.life, t, "append what was kept")
}

// noticed begins an outage when a ticket failed for another reason than its
// waiter's context.
func (e *Engine) noticed(err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ledger.ErrConflict) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.beginOutage(err)
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
	if e.seq == e.settled || e.life.Err() != nil {
		return
	}
	if err := e.newest.Err(); err != nil {
		e.beginOutage(err)
		return
	}
	if e.nowFunc().Sub(e.progress) >= maxStall && !e.stalled {
		e.stalled = true
		close(e.stall)
	}
	e.watch()
}

// moved notes that the ledger has committed something of ours. e.mu is held.
func (e *Engine) moved(now events.Time) {
	e.progress = now
	if e.stalled {
		e.stalled, e.stall = false, make(chan struct{})
	}
}

// rest waits for d or the end of ctx.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
