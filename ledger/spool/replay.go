package spool

import (
	"context"
	"errors"
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

// Replayed is what became of a spool.
type Replayed struct {
	Events uint64        // that are in the ledger now
	Fault  *ledger.Fault // the first that is not what was spooled, by its place in the spool; nil: none
	Lost   uint64        // events from there on, which are in no ledger
	Aside  string        // where they are kept
}

// Replay appends what a former process left, in order, under the ids and
// numbers that it has, and empties the spool. What the ledger has already is
// not appended again. A ledger that it does not belong to is ErrForeign, and
// nothing is appended. A spool that is not what was written to it is appended
// up to there, and set aside whole.
//
// Meanwhile the dead writer is held, so that no replica takes for lost what
// the next page says the end of.
func (s *Spool) Replay(ctx context.Context, into *ledger.Log) (out Replayed, err error) {
	n, of, err := Left(ctx, s.store)
	if err != nil && !errors.Is(err, ledger.ErrBroken) || err == nil && n == 0 {
		return out, err
	}
	sound, err := s.sound(ctx)
	if err != nil {
		return out, fmt.Errorf("replay spool: %w", err)
	}
	if sound.upTo > 0 {
		if err := belongs(ctx, into, n, of); err != nil {
			return out, fmt.Errorf("replay spool: %w", err)
		}
	}
	if sound.upTo > 1 {
		if err := hold(ctx, into.Writers(), sound.writers, func(ctx context.Context) error { return s.replay(ctx, into, sound.upTo) }); err != nil {
			return out, fmt.Errorf("replay spool: %w", err)
		}
		out.Events = uint64(sound.upTo) - 1
	}
	if sound.fault != nil {
		out.Fault, out.Lost = sound.fault, max(n, out.Events)-out.Events
		if out.Aside, err = s.store.SetAside(); err != nil {
			return out, fmt.Errorf("set the spool aside, of which %w: %w", sound.fault, err)
		}
		return out, nil
	}
	if _, err := s.store.Empty(events.Position(n + 1)); err != nil {
		return out, fmt.Errorf("empty spool: %w", err)
	}
	return out, nil
}

// belongs makes sure that what waits is of a ledger.
func belongs(ctx context.Context, into *ledger.Log, n uint64, of uuid.UUID) error {
	is, err := ledger.Identity(ctx, into)
	if err != nil {
		return err
	}
	if is != of {
		return fmt.Errorf("%w: %d events of %s, and this ledger is %s; "+
			"name the right WAYBILL_LEDGER, or move the spool away to give them up", ErrForeign, n, of, name(is))
	}
	return nil
}

func name(id uuid.UUID) string {
	if id == uuid.Nil {
		return "empty"
	}
	return id.String()
}

// sound is the part of a spool that is what was written.
type sound struct {
	upTo    events.Position
	writers []uuid.UUID   // of the events in it: as a rule one
	fault   *ledger.Fault // of what follows; nil: it is all
}

// sound walks the spool's chain, as a verification walks a ledger's.
func (s *Spool) sound(ctx context.Context) (out sound, err error) {
	head, err := s.store.Head(ctx)
	if err != nil && !errors.Is(err, ledger.ErrBroken) {
		return out, err
	}
	check, counts, codec := ledger.NewChecker(ledger.Head{}), ledger.Counts{}, events.Codec{}
	err = s.store.Scan(ctx, 0, ledger.Filter{}, 0, func(r *ledger.Row) error {
		fault := check.Next(r, r.ContentHash())
		if fault == nil {
			fault = counts.Next(r)
		}
		if fault != nil {
			return fault
		}
		if _, err := codec.Open(&r.Record); err != nil {
			return &ledger.Fault{Position: r.Position, Kind: ledger.FaultUnreadable, Detail: err.Error()}
		}
		if out.upTo = r.Position; out.upTo > 1 && !slices.Contains(out.writers, r.Writer) {
			out.writers = append(out.writers, r.Writer)
		}
		return nil
	})
	switch {
	case errors.As(err, &out.fault):
	case errors.Is(err, ledger.ErrBroken):
		out.fault = &ledger.Fault{Position: out.upTo + 1, Kind: ledger.FaultUnreadable, Detail: err.Error()}
	case err != nil:
		return out, err
	default:
		out.fault = check.End(head)
	}
	return out, nil
}

// replay appends page after page, up to a row.
func (s *Spool) replay(ctx context.Context, into *ledger.Log, upTo events.Position) error {
	for at := events.Position(1); ; {
		var drafts []events.Draft
		err := s.store.Scan(ctx, at, ledger.Filter{UpTo: upTo}, page, func(r *ledger.Row) error {
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
