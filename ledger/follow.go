package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
)

// page is how many events a follower reads from the store at a time.
const page = 1000

// Follow calls fn with every event after a position, in order and without a
// gap, as it is committed; commits of this process are handed over without
// reading them again. fn must neither change nor keep the slice. It returns
// when ctx ends, the log is closed (ErrClosed), fn fails, or the ledger turns
// out to be broken; a store that is away for a while is waited for.
func (l *Log) Follow(ctx context.Context, after events.Position, fn func([]events.Event) error) error {
	f := follower{log: l, at: after, fn: fn}
	if err := f.look(ctx); err != nil {
		return err
	}
	for {
		if err := l.ended(ctx); err != nil {
			return err
		}
		run, upTo, changed := l.tail.after(f.at)
		var err error
		switch {
		case run != nil:
			err = f.give(run)
		case upTo > f.at:
			err = f.read(ctx, upTo)
		default:
			err = f.wait(ctx, changed)
		}
		if err != nil {
			return err
		}
	}
}

// ended says why following must stop, if it must.
func (l *Log) ended(ctx context.Context) error {
	if l.ctx.Err() != nil {
		return ErrClosed
	}
	return ctx.Err()
}

type follower struct {
	log *Log
	at  events.Position
	fn  func([]events.Event) error
}

func (f *follower) give(run []events.Event) error {
	if err := f.fn(run); err != nil {
		return err
	}
	f.at = run[len(run)-1].Position
	return nil
}

// read hands over one page from the store.
func (f *follower) read(ctx context.Context, upTo events.Position) error {
	limited, cancel := context.WithTimeout(ctx, f.log.opt.Timeout) // a store that hangs is asked again
	run, err := f.log.Read(limited, f.at, Filter{UpTo: upTo}, page)
	cancel()
	switch {
	case errors.Is(err, ErrUnavailable), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		Rest(ctx, f.log.opt.Poll)
		return nil
	case err != nil:
		return fmt.Errorf("follow after %d: %w", f.at, err)
	}
	for i := range run {
		if run[i].Position != f.at+1+events.Position(i) {
			return fmt.Errorf("follow: event %d is missing: %w", f.at+1+events.Position(i), ErrBroken)
		}
	}
	if len(run) == 0 {
		return fmt.Errorf("follow: event %d is missing: %w", f.at+1, ErrBroken)
	}
	return f.give(run)
}

// wait blocks until the ledger may have grown.
func (f *follower) wait(ctx context.Context, changed <-chan struct{}) error {
	if _, shared := Part[Shared](f.log.store); !shared {
		select {
		case <-ctx.Done():
		case <-f.log.ctx.Done():
		case <-changed:
		}
		return nil
	}
	t := time.NewTimer(f.log.opt.Poll)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-f.log.ctx.Done():
		return nil
	case <-changed:
	case <-t.C:
	}
	return f.look(ctx)
}

// look asks the store how far it is.
func (f *follower) look(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, f.log.opt.Timeout)
	h, err := f.log.store.Head(limited)
	cancel()
	switch {
	case errors.Is(err, ErrUnavailable), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil
	case err != nil:
		if ended := f.log.ended(ctx); ended != nil {
			return ended
		}
		return fmt.Errorf("follow: %w", err)
	case h.Position < f.at:
		return fmt.Errorf("follow: head is %d, was %d: %w", h.Position, f.at, ErrBroken)
	}
	f.log.tail.advance(h.Position)
	return nil
}

// Wait returns when the head is beyond a position.
func (l *Log) Wait(ctx context.Context, after events.Position) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := follower{log: l}
	for {
		_, upTo, changed := l.tail.after(after)
		if upTo > after || l.beyond(after) {
			return nil
		}
		if err := f.look(ctx); err != nil {
			return err
		}
		if l.beyond(after) {
			return nil
		}
		if err := l.ended(ctx); err != nil {
			return err
		}
		if err := f.wait(ctx, changed); err != nil {
			return err
		}
	}
}

func (l *Log) beyond(p events.Position) bool {
	l.tail.mu.Lock()
	defer l.tail.mu.Unlock()
	return l.tail.head > p
}
