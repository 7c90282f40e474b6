package ledgertest

import (
	"context"
	"sync/atomic"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Spoiled is a store that other processes append to, and that is not what it
// was: an event is not found any more, or the head has gone back. Zero is
// neither.
type Spoiled struct {
	*Memory
	Hole, Back atomic.Uint64 // a position
}

// Watch implements ledger.Shared: nobody tells of new events, so they are asked for.
func (s *Spoiled) Watch(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}

// Scan implements ledger.Store.
func (s *Spoiled) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	return s.Memory.Scan(ctx, after, f, limit, func(r *ledger.Row) error {
		if uint64(r.Position) == s.Hole.Load() {
			return nil
		}
		return fn(r)
	})
}

// Head implements ledger.Store.
func (s *Spoiled) Head(ctx context.Context) (ledger.Head, error) {
	h, err := s.Memory.Head(ctx)
	if back := s.Back.Load(); back != 0 {
		h.Position = events.Position(back)
	}
	return h, err
}
