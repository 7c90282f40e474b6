package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/waybill/waybill/events"
)

// Bus wakes the followers of other processes. It carries no events: a message
// says *look*, and one that is lost costs a poll. It must not know what a
// ledger holds.
type Bus interface {
	// Ring tells the others that the ledger has grown. It never waits.
	Ring(head events.Position)
	// Watch calls poke once it hears the others, and at each of their messages,
	// until ctx ends (nil) or they cannot be heard any more.
	Watch(ctx context.Context, poke func()) error
}

// bellRest is the least time between two messages: a burst of commits is one.
const bellRest = 2 * time.Millisecond

// Bell sends the newest head to other processes, in a goroutine of its own, so
// that no commit waits for a message.
type Bell struct {
	head atomic.Uint64
	wake chan struct{}
}

// NewBell is a bell that nobody swings yet.
func NewBell() *Bell { return &Bell{wake: make(chan struct{}, 1)} }

// Ring asks for a message. It never waits.
func (b *Bell) Ring(head events.Position) {
	b.head.Store(uint64(head))
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Swing sends until ctx ends or a message cannot be sent.
func (b *Bell) Swing(ctx context.Context, send func(head events.Position) error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.wake:
		}
		if err := send(events.Position(b.head.Load())); err != nil {
			return err
		}
		Rest(ctx, bellRest)
	}
}
