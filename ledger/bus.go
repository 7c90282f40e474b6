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

const (
	// bellRest is the least time between two messages: a burst of commits is one.
	bellRest = 2 * time.Millisecond
	// busyRest is what it is where more than busyEvents came since the message
	// before: others that are that far behind gain nothing by being woken more often,
	// and messages take the processor from the commits.
	busyRest   = 5 * time.Millisecond
	busyEvents = 100
)

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
	for sent := events.Position(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-b.wake:
		}
		head := events.Position(b.head.Load())
		if err := send(head); err != nil {
			return err
		}
		rest := bellRest
		if head > sent+busyEvents {
			rest = busyRest
		}
		sent = head
		Rest(ctx, rest)
	}
}
