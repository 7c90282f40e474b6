package ledger_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

func TestABellRestsLongerWhereMuchHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := ledger.NewBell()
		sent := make(chan events.Position)
		go func() {
			_ = b.Swing(ctx, func(head events.Position) error { sent <- head; return nil })
			close(sent)
		}()
		last := time.Now()
		for _, m := range []struct {
			ring events.Position
			rest time.Duration // since the message before
		}{
			{1, 0}, {2, 2 * time.Millisecond}, {102, 2 * time.Millisecond}, {203, 2 * time.Millisecond}, {204, 5 * time.Millisecond}, {205, 2 * time.Millisecond},
		} {
			if m.rest > 0 { // a burst is one message, of its last position
				b.Ring(m.ring - 1)
			}
			b.Ring(m.ring)
			if head, rest := <-sent, time.Since(last); head != m.ring || rest != m.rest {
				t.Errorf("%d after %s, want %d after %s", head, rest, m.ring, m.rest)
			}
			last = time.Now()
		}
		cancel()
		<-sent
	})
}
