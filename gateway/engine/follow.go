package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/admission"
)

// followRetry is the pause before following is taken up again after a fault.
const followRetry = 250 * time.Millisecond

// maxRuns bounds the commits that wait to be folded; beyond it the follower
// waits, and reads what it missed from the store.
const maxRuns = 256

// follow receives committed events, own and others', until its context ends.
// They are folded by a goroutine of their own, all that wait at once: each fold
// re-applies what is pending, so one that has fallen behind must take bigger
// steps, or it would never catch up.
func (e *Engine) follow(ctx context.Context) {
	defer close(e.followed)
	runs := make(chan []events.Event, maxRuns)
	defer close(runs)
	e.folding.Go(func() { e.fold(runs) })
	received := e.Position()
	for {
		err := e.log.Follow(ctx, received, func(run []events.Event) error {
			select {
			case runs <- slices.Clone(run):
				received = run[len(run)-1].Position
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if ctx.Err() != nil {
			return
		}
		e.setFault(err)
		if errors.Is(err, ledger.ErrBroken) {
			e.logger.Error("the ledger is not what it was; nothing is decided any more", "error", err)
			return
		}
		e.logger.Error("following the ledger failed", "error", err)
		ledger.Rest(ctx, followRetry)
	}
}

// fold takes what has come, as much as there is, until the channel is closed.
func (e *Engine) fold(in <-chan []events.Event) {
	var runs [][]events.Event
	for run := range in {
		runs = append(runs[:0], run)
		for more := true; more; {
			select {
			case run, ok := <-in:
				if more = ok; ok {
					runs = append(runs, run)
				}
			default:
				more = false
			}
		}
		e.commit(runs)
		clear(runs)
	}
}

// Broken is closed when the ledger that is followed has a hole or has gone
// back: what was decided on may never have been. It does not heal; a process
// that starts anew folds what is there.
func (e *Engine) Broken() <-chan struct{} { return e.broken }

func (e *Engine) setFault(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faulted(err)
}

// faulted: a ledger that is broken stays so. e.mu is held.
func (e *Engine) faulted(err error) {
	if errors.Is(e.fault, ledger.ErrBroken) {
		return
	}
	e.fault = err
	if errors.Is(err, ledger.ErrBroken) {
		close(e.broken)
	}
	e.wake()
}

func (e *Engine) commit(runs [][]events.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.nowFunc()
	e.live.Commit(runs...)
	for _, run := range runs {
		for i := range run {
			if run[i].Writer == e.writer {
				e.settle(&run[i], now)
			}
			if e.wanted != nil && admission.AsksAgain(&run[i]) {
				e.wanted(run[i].Account)
			}
		}
	}
	e.tidy()
	if !errors.Is(e.fault, ledger.ErrBroken) {
		e.fault = nil
	}
	e.growInFlight()
	e.wake()
}

// settle notes that an own event is committed: what the queue holds, how long
// a decision took to become durable, and how the two clocks agree.
func (e *Engine) settle(ev *events.Event, now events.Time) {
	e.settled, e.progress = ev.WriterSeq, now
	switch ev.Data.(type) {
	case *events.CandidatesListed:
		e.lists.committed(ev.WriterSeq, ev.Position)
	case *events.AttemptRouted, *events.RequestRefused:
		e.compareClocks(ev, now)
		if e.observe != nil && ev.WriterSeq > e.spooled {
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
