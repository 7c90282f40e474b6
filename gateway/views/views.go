// Package views brings projections to a position of the ledger: from the newest
// stored state at or before it, and the tail of events behind that. Its Keeper
// stores those states while a gateway runs. What comes out is the same as a fold
// from zero (I1), only sooner; without any snapshot it is a fold from zero. The
// package knows no store and judges nothing.
package views

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/snapshot"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/requests"
)

// Log is what is needed of a ledger; *ledger.Log is one.
type Log interface {
	Scanner
	snapshot.Log
}

// To brings fresh projections to a position. It returns the position of the
// snapshot that it started from, 0 for none. apply sees each event of the tail
// after the projections; nil: nobody does.
func To(ctx context.Context, log Log, at events.Position, logger *slog.Logger, apply func(*events.Event), all ...projections.Projection) (events.Position, error) {
	from, err := Load(ctx, snapshot.Of(log, logger), at, all...)
	if err != nil || from >= at {
		return from, err
	}
	err = Each(ctx, log, from, at, func(e *events.Event) error {
		for _, p := range all {
			p.Apply(e)
		}
		if apply != nil {
			apply(e)
		}
		return nil
	})
	if err != nil {
		return from, fmt.Errorf("fold to %d: %w", at, err)
	}
	return from, nil
}

// Load gives fresh projections the newest stored states at or before a position
// that all of them have, and returns where they stand: 0 for none, with the
// projections as they were.
func Load(ctx context.Context, snaps *snapshot.Store, upTo events.Position, all ...projections.Projection) (events.Position, error) {
	for snaps != nil && upTo > 0 {
		found, at := common(ctx, snaps, upTo, all)
		if found == nil {
			return 0, ctx.Err()
		}
		ok, err := load(ctx, snaps, found, all)
		if ok || err != nil {
			return at, err
		}
		upTo = at - 1
	}
	return 0, ctx.Err()
}

// common finds the newest position at or before another at which there is a
// snapshot of every projection.
func common(ctx context.Context, snaps *snapshot.Store, upTo events.Position, all []projections.Projection) ([]ledger.Snapshot, events.Position) {
	found := make([]ledger.Snapshot, len(all))
	for moved := true; moved; {
		moved = false
		for i, p := range all {
			if found[i].At.Position == upTo {
				continue
			}
			s, ok := snaps.Newest(ctx, nameOf(p), p.Version(), upTo)
			if !ok {
				return nil, 0
			}
			found[i] = s
			if s.At.Position < upTo {
				upTo, moved = s.At.Position, true
			}
		}
	}
	return found, upTo
}

// nameOf is what a projection's states are stored under.
func nameOf(p projections.Projection) string {
	if _, ok := p.(*requests.View); ok {
		return requests.Heads
	}
	return p.Name()
}

// stateOf is what is stored under that name.
func stateOf(p projections.Projection) []byte {
	if v, ok := p.(*requests.View); ok {
		return v.AppendHead(nil)
	}
	return p.AppendState(nil)
}

// load gives the projections their states, all or none.
func load(ctx context.Context, snaps *snapshot.Store, found []ledger.Snapshot, all []projections.Projection) (bool, error) {
	fresh := make([][]byte, len(all))
	for i, p := range all {
		fresh[i] = p.AppendState(nil)
	}
	for i, p := range all {
		if loadOne(ctx, snaps, &found[i], p) {
			continue
		}
		for k, p := range all[:i] {
			if err := p.LoadState(fresh[k]); err != nil {
				return false, fmt.Errorf("empty %s again: %w", p.Name(), err)
			}
		}
		return false, nil
	}
	return true, nil
}

func loadOne(ctx context.Context, snaps *snapshot.Store, s *ledger.Snapshot, p projections.Projection) bool {
	if v, ok := p.(*requests.View); ok {
		return (&History{snaps, v.Version()}).load(ctx, s, v)
	}
	return p.LoadState(s.State) == nil
}
