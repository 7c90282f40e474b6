package engine

import (
	"context"
	"errors"
	"time"

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
	proved := false
	for pause := 10 * time.Millisecond; e.life.Err() == nil; pause = min(2*pause, resubmitMax) {
		done, err := e.drain(proved)
		switch proved = err == nil; {
		case done:
			return
		case proved:
			pause = 10 * time.Millisecond
		default:
			rest(e.life, pause)
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

// drain appends the oldest kept events under the ids and numbers that they
// have: a commit whose outcome was unknown is harmless to repeat. Once the
// ledger has proved that it takes events, and what is left fits into one
// commit, that is handed over with whatever comes after it: the outage is over.
func (e *Engine) drain(proved bool) (done bool, err error) {
	e.mu.Lock()
	if e.kept != nil && e.kept.Err() != nil {
		e.spoil(e.kept.Err())
	}
	if e.spoilt != nil {
		e.respool()
	}
	kept := e.live.Pending()
	last := len(kept) <= resubmitChunk
	if len(kept) == 0 {
		e.endOutage(e.nowFunc())
		e.mu.Unlock()
		return true, nil
	}
	drafts := draftsOf(kept[:min(len(kept), resubmitChunk)])
	e.log.Restart(e.writer)
	t := e.log.Submit(ledger.Awaited, drafts...)
	if proved && last && t.Err() == nil {
		e.newest = t
		e.endOutage(e.nowFunc())
		e.watch()
		e.mu.Unlock()
		return true, nil
	}
	e.mu.Unlock()
	return false, e.appended(e.life, t)
}

// appended returns when a ticket's events are durable and folded.
func (e *Engine) appended(ctx context.Context, t *ledger.Ticket) error {
	evs, err := t.Wait(ctx)
	if err != nil {
		if errors.Is(err, ledger.ErrConflict) {
			e.logger.Error("the ledger holds another event under the id of one of ours", "error", err)
		}
		return err
	}
	return e.standsAt(ctx, evs[len(evs)-1].Position)
}
