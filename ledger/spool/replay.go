package spool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

const (
	// page is how many events are appended at a time.
	page = 1000
	// holdTries and holdRest bound the wait for the lock of a dead writer.
	holdTries = 20
	holdRest  = 250 * time.Millisecond
)

// Waiting is how many events a former process left.
func (s *Spool) Waiting(ctx context.Context) (uint64, error) {
	n, _, err := Left(ctx, s.store)
	return n, err
}

// Replay appends what a former process left, in order, under the ids and
// numbers that it has, and empties the spool. What the ledger has already is
// not appended again. A ledger that it does not belong to is ErrForeign, and
// nothing is appended.
//
// Meanwhile the dead writer is held, so that no replica takes for lost what
// the next page says the end of.
func (s *Spool) Replay(ctx context.Context, into *ledger.Log) (n uint64, err error) {
	n, of, err := Left(ctx, s.store)
	if err != nil || n == 0 {
		return 0, err
	}
	is, err := ledger.Identity(ctx, into)
	if err != nil {
		return 0, fmt.Errorf("replay spool: %w", err)
	}
	if is != of {
		return 0, fmt.Errorf("replay spool: %w: %d events of %s, and this ledger is %s; "+
			"name the right WAYBILL_LEDGER, or move the spool away to give them up", ErrForeign, n, of, name(is))
	}
	writers, err := s.writers(ctx)
	if err != nil {
		return 0, fmt.Errorf("replay spool: %w", err)
	}
	if err := hold(ctx, into.Writers(), writers, func(ctx context.Context) error { return s.replay(ctx, into) }); err != nil {
		return 0, fmt.Errorf("replay spool: %w", err)
	}
	if _, err := s.store.Empty(events.Position(n + 1)); err != nil {
		return n, fmt.Errorf("empty spool: %w", err)
	}
	return n, nil
}

func name(id uuid.UUID) string {
	if id == uuid.Nil {
		return "empty"
	}
	return id.String()
}

// writers are those whose events wait: as a rule one.
func (s *Spool) writers(ctx context.Context) (out []uuid.UUID, err error) {
	err = s.store.Scan(ctx, 1, ledger.Filter{}, 0, func(r *ledger.Row) error {
		if !slices.Contains(out, r.Writer) {
			out = append(out, r.Writer)
		}
		return nil
	})
	return out, err
}

// replay appends page after page.
func (s *Spool) replay(ctx context.Context, into *ledger.Log) error {
	for at := events.Position(1); ; {
		var drafts []events.Draft
		err := s.store.Scan(ctx, at, ledger.Filter{}, page, func(r *ledger.Row) error {
			e, err := r.Event()
			drafts, at = append(drafts, events.Draft{Header: e.Header, Data: e.Data}), r.Position
			return err
		})
		if err != nil || len(drafts) == 0 {
			return err
		}
		if _, err := into.Append(ctx, drafts...); err != nil {
			return err
		}
	}
}

// hold runs fn while no other replica can take the writers over. Whoever has
// the spool open knows that they are dead: a lock that a database still keeps
// for one of them, since it has not noticed, is waited for, but not for ever.
func hold(ctx context.Context, w ledger.Writers, ids []uuid.UUID, fn func(context.Context) error) error {
	if w == nil || len(ids) == 0 {
		return fn(ctx)
	}
	for range holdTries {
		dead, err := w.TakeOver(ctx, ids[0], func(ctx context.Context) error { return hold(ctx, w, ids[1:], fn) })
		if dead || err != nil {
			return err
		}
		if !ledger.Rest(ctx, holdRest) {
			return ctx.Err()
		}
	}
	return fn(ctx)
}
