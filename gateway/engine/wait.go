package engine

import (
	"context"
	"time"

	"github.com/waybill/waybill/events"
)

// wake tells everyone who waits that the views or the counters changed. e.mu
// is held. It costs nothing while nobody waits.
func (e *Engine) wake() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// change is closed at the next change. e.mu is held.
func (e *Engine) change() <-chan struct{} {
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return e.changed
}

// await returns at a change, after d, or when ctx ends.
func await(ctx context.Context, change <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-change:
	case <-timer.C:
	}
	return nil
}

// foldedTo returns when the committed views stand at a position or beyond.
func (e *Engine) foldedTo(ctx context.Context, at events.Position) error {
	for {
		e.mu.Lock()
		if e.live.Position() >= at {
			e.mu.Unlock()
			return nil
		}
		change := e.change()
		e.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-change:
		}
	}
}
