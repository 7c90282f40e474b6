package engine

import (
	"errors"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

const (
	// resubmitChunk is how many kept events are submitted at a time.
	resubmitChunk = 1000
	// resubmitMax bounds the pause between two tries.
	resubmitMax = time.Second
	// outageNews is how often the log says that an outage goes on.
	outageNews = 30 * time.Second
)

// recover appends what is kept, in order, until the ledger has caught up with
// us.
func (e *Engine) recover() {
	e.mu.Lock()
	newest, news := e.newest, e.nowFunc().Add(outageNews)
	e.mu.Unlock()
	if newest != nil { // what the queue still holds must be settled first
		select {
		case <-newest.Done():
		case <-e.life.Done():
		}
	}
	sent := uint64(0)
	for pause := 10 * time.Millisecond; e.life.Err() == nil; pause = min(2*pause, resubmitMax) {
		var done bool
		switch done, sent = e.drain(sent); {
		case done:
			return
		case sent != 0:
			pause = 10 * time.Millisecond
		default:
			ledger.Rest(e.life, pause)
		}
		if now := e.nowFunc(); now >= news {
			news = now.Add(outageNews)
			e.tell()
		}
	}
}

func (e *Engine) tell() {
	if o, away := e.Outage(); away {
		e.logger.Warn("the ledger still lacks events of ours", "since", o.Since, "events", o.Events, "spool_bytes", o.Bytes, "spool_max", o.Max, "error", o.Cause)
	}
}

// drain appends the oldest kept events behind an own number under the ids and
// numbers that they have: a commit whose outcome was unknown is harmless to
// repeat. It returns the newest number that the ledger has taken, 0 when it
// took none; it does not wait until that is folded, so that the folds, which
// all re-apply what is left, are few when much is.
//
// Once the ledger has taken something, and what is left fits into one commit,
// that is handed over, with whatever comes after it: the outage is over.
func (e *Engine) drain(sent uint64) (done bool, now uint64) {
	e.mu.Lock()
	e.mend()
	e.log.Restart(e.writer) // what it waits for may have been seen as committed
	kept := e.unsent(sent)
	folded := len(e.live.Pending()) <= maxUnsettled/2 // else what comes next would find too much under way
	if len(kept) == 0 && !folded {
		change := e.change()
		e.mu.Unlock()
		_ = await(e.life, change, resubmitMax)
		return false, sent
	}
	if len(kept) == 0 {
		e.endOutage(e.nowFunc())
		e.mu.Unlock()
		return true, 0
	}
	last := folded && len(kept) <= resubmitChunk
	drafts := draftsOf(kept[:min(len(kept), resubmitChunk)])
	t := e.log.Submit(ledger.Awaited, drafts...)
	if sent != 0 && last && t.Err() == nil {
		e.newest = t
		e.endOutage(e.nowFunc())
		e.watch()
		e.mu.Unlock()
		return true, 0
	}
	e.mu.Unlock()
	if _, err := t.Wait(e.life); err != nil {
		if errors.Is(err, ledger.ErrConflict) {
			e.logger.Error("the ledger holds another event under the id of one of ours", "error", err)
		}
		return false, 0
	}
	return false, drafts[len(drafts)-1].WriterSeq
}

// unsent is what is kept behind an own number. e.mu is held.
func (e *Engine) unsent(sent uint64) []events.Event {
	kept := e.live.Pending()
	if len(kept) == 0 || sent < kept[0].WriterSeq {
		return kept
	}
	return kept[min(sent-kept[0].WriterSeq+1, uint64(len(kept))):]
}

// mend tries the spool again where that has failed. e.mu is held.
func (e *Engine) mend() {
	if e.kept != nil && e.kept.Err() != nil {
		e.spoil(e.kept.Err())
	}
	if e.spoilt != nil && e.spool != nil {
		e.respool()
	}
}
