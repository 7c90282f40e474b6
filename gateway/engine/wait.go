package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
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

// until returns when what fn asks, under the lock, holds.
func (e *Engine) until(ctx context.Context, fn func() bool) error {
	for {
		e.mu.Lock()
		if fn() {
			e.mu.Unlock()
			return nil
		}
		if errors.Is(e.fault, ledger.ErrBroken) {
			defer e.mu.Unlock()
			return fmt.Errorf("%w: %w", ErrLedger, e.fault)
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

// Settled returns when every own event is folded as committed.
func (e *Engine) Settled(ctx context.Context) error {
	return e.until(ctx, func() bool { return e.seq == e.settled })
}

// standsAt returns when the committed views stand at a position or beyond.
func (e *Engine) standsAt(ctx context.Context, at events.Position) error {
	return e.until(ctx, func() bool { return e.live.Position() >= at })
}

// foldedTo returns when an own event is folded as committed, or when the
// ledger is away and that will take as long as it is: spooled.
func (e *Engine) foldedTo(ctx context.Context, seq uint64) (spooled bool, err error) {
	err = e.until(ctx, func() bool {
		spooled = e.settled < seq && e.outage != nil
		return e.settled >= seq || spooled
	})
	return spooled, err
}
