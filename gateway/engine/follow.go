package engine

import (
	"context"
	"time"

	"github.com/waybill/waybill/events"
)

// followRetry is the pause before following is taken up again after a fault.
const followRetry = 250 * time.Millisecond

// follow folds committed events, own and others', until its context ends.
func (e *Engine) follow(ctx context.Context) {
	defer close(e.followed)
	for {
		err := e.log.Follow(ctx, e.Position(), func(evs []events.Event) error {
			e.commit(evs)
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		e.logger.Error("following the ledger failed", "error", err)
		e.setFault(err)
		rest(ctx, followRetry)
	}
}

func (e *Engine) setFault(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = err
}

func (e *Engine) commit(evs []events.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.nowFunc()
	e.live.Commit(evs)
	for i := range evs {
		if evs[i].Writer == e.writer {
			e.settle(&evs[i], now)
		}
	}
	e.fault = nil
	e.growInFlight()
	e.wake()
}

// settle notes that an own event is committed: what the queue holds, how long
// a decision took to become durable, and how the two clocks agree.
func (e *Engine) settle(ev *events.Event, now events.Time) {
	e.settled = ev.WriterSeq
	e.moved(now)
	switch ev.Data.(type) {
	case *events.CandidatesListed:
		e.lists.committed(ev.WriterSeq, ev.Position)
	case *events.AttemptRouted, *events.RequestRefused:
		e.compareClocks(ev, now)
		if e.observe != nil {
			e.observe.Appended(now.Sub(ev.ObservedAt))
		}
	default:
		e.observeEnd(ev)
	}
}

func (e *Engine) observeEnd(ev *events.Event) {
	if e.observe == nil {
		return
	}
	if ev.Data.Kind() == events.KindAttemptSucceeded {
		e.observe.Ended(ev.Account, events.ClassSuccess)
	} else if f, ok := events.FailureOf(ev.Data); ok {
		e.observe.Ended(ev.Account, f.Class)
	}
}

func (e *Engine) compareClocks(ev *events.Event, now events.Time) {
	if e.clock == nil {
		return
	}
	doc, _ := e.view.Admission.Document()
	if !e.clock.Compare(ev.ObservedAt, ev.RecordedAt, now, doc.Policy.ClockSkew) {
		return
	}
	if err := e.clock.Check(); err != nil {
		e.logger.Warn("not ready", "error", err)
		return
	}
	e.logger.Info("clock agrees with the ledger's again")
}
