package engine

import (
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// record gives drafts their ids and numbers, submits them and folds them into
// the overlay, in one order. e.mu is held. While the ledger takes no events
// they are diverted to the spool.
func (e *Engine) record(u ledger.Urgency, drafts ...events.Draft) (*ledger.Ticket, error) {
	now := e.nowFunc()
	e.number(now, drafts)
	if e.outage != nil {
		return e.divert(u, now, drafts)
	}
	t := e.log.Submit(u, drafts...)
	if err := t.Err(); err != nil {
		e.beginOutage(err)
		return e.divert(u, now, drafts)
	}
	e.newest = t
	e.pend(now, drafts)
	e.watch()
	return t, nil
}

// number gives drafts their ids and numbers. e.mu is held.
func (e *Engine) number(now events.Time, drafts []events.Draft) {
	for i := range drafts {
		d := &drafts[i]
		d.ID, d.Writer, d.WriterSeq = e.ids.Next(now), e.writer, e.seq+uint64(i)+1
		d.ObservedAt = clamp(d.ObservedAt, now)
	}
}

// submitFolded submits an outcome that the overlay holds already. The lock has
// been held since it got its number, so the order is kept. e.mu is held.
func (e *Engine) submitFolded(d events.Draft) {
	if e.outage != nil {
		e.spoolFolded(d)
		return
	}
	t := e.log.Submit(ledger.Behind, d)
	if err := t.Err(); err != nil {
		e.beginOutage(err)
		return
	}
	e.newest = t
	e.watch()
}

// pend folds own events that have their numbers. e.mu is held.
func (e *Engine) pend(now events.Time, drafts []events.Draft) {
	if e.seq == e.settled {
		e.progress = now
	}
	e.seq += uint64(len(drafts))
	for i := range drafts {
		e.live.Pend(drafts[i].Pending())
	}
	e.growInFlight()
	e.wake()
}

// clamp keeps an event time out of the future (R19); absent means now.
func clamp(t, now events.Time) events.Time {
	if t == 0 || t > now {
		return now
	}
	return t
}

// clampPresent is clamp for a time that may be absent.
func clampPresent(t, now events.Time) events.Time { return min(t, now) }

// growInFlight keeps one counter for each roster number.
func (e *Engine) growInFlight() {
	for n := len(e.view.Admission.Roster()); len(e.inFlight) < n; {
		e.inFlight = append(e.inFlight, 0)
	}
}

// ready says why no decision can be recorded now, nil when one can. e.mu is held.
func (e *Engine) ready() error {
	var err error
	switch unsettled := e.seq - e.settled; {
	case e.fault != nil:
		err = e.fault
	case e.outage != nil && e.spool == nil:
		err = e.outage
	case e.outage != nil:
		err = e.spoolReady()
	case unsettled > maxUnsettled && e.spool == nil:
		err = fmt.Errorf("%d events wait for the ledger", unsettled)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLedger, err)
	}
	return nil
}

// admits is ready for a new decision: one more than the ledger's queue may hold
// goes to the spool. e.mu is held.
func (e *Engine) admits() error {
	if e.outage == nil && e.spool != nil && e.seq-e.settled > maxUnsettled {
		e.beginOutage(ledger.ErrBackpressure)
	}
	return e.ready()
}

// Ready says why the engine should get no traffic: it cannot record, or its
// clock is too far from the ledger's.
func (e *Engine) Ready() error {
	if err := e.LedgerError(); err != nil {
		return err
	}
	return e.ClockError()
}

// LedgerError says why nothing can be recorded now, nil when it can.
func (e *Engine) LedgerError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ready()
}

// ClockError says how far the clock is from the ledger's when that is too far.
func (e *Engine) ClockError() error {
	if e.clock == nil {
		return nil
	}
	return e.clock.Check()
}

// Position is the committed position that the views stand at.
func (e *Engine) Position() events.Position {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live.Position()
}

// Unsettled counts own events that are submitted and not yet folded as committed.
func (e *Engine) Unsettled() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seq - e.settled
}

// recorded records what somebody waits for. e.mu is held.
func (e *Engine) recorded(drafts ...events.Draft) (commit, error) {
	t, err := e.record(ledger.Awaited, drafts...)
	return e.waitFor(t), err
}
