package ledger_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// gated takes its first batch once it may.
type gated struct {
	null
	may chan struct{}
}

func (g *gated) Commit(ctx context.Context, batch []events.Record) ([]ledger.Result, error) {
	<-g.may
	return g.null.Commit(ctx, batch)
}

// slowBus holds up whoever rings for the first position.
type slowBus struct{ may chan struct{} }

func (b slowBus) Ring(head events.Position) {
	if head == 1 {
		<-b.may
	}
}

func (slowBus) Watch(ctx context.Context, _ func()) error { <-ctx.Done(); return nil }

// TestALaterCommitIsNotToldOfFirst: while the first one is told of the second is
// committed, and waits its turn.
func TestALaterCommitIsNotToldOfFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, bus := &gated{may: make(chan struct{})}, slowBus{make(chan struct{})}
		l := ledger.OpenWith(store, ledger.Options{Bus: bus})
		defer l.Close()
		made := ledgertest.NewMaker().Drafts(2)
		first := l.Submit(ledger.Awaited, made[0])
		synctest.Wait() // it is being committed
		second := l.Submit(ledger.Awaited, made[1])
		close(store.may)
		synctest.Wait()
		if store.at != 2 {
			t.Errorf("%d events are committed while the first is told of, want 2", store.at)
		}
		select {
		case <-second.Done():
			t.Error("the second was told of before the first")
		default:
		}
		close(bus.may)
		<-first.Done()
		if evs, err := second.Wait(t.Context()); err != nil || evs[0].Position != 2 {
			t.Errorf("%v %v", evs, err)
		}
	})
}
