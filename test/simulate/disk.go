package simulate

import (
	"context"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// disk is a gateway's own, where its spool is. It outlives its processes; each
// of them holds it by a handle that ends with it.
type disk struct {
	*ledgertest.Memory
	gone atomic.Bool
}

// Commit implements ledger.Store.
func (d *disk) Commit(ctx context.Context, batch []events.Record) ([]ledger.Result, error) {
	if d.gone.Load() {
		return nil, ledger.ErrClosed
	}
	return d.Memory.Commit(ctx, batch)
}

// Empty implements spool.Store.
func (d *disk) Empty(at events.Position) (bool, error) {
	if d.gone.Load() {
		return false, ledger.ErrClosed
	}
	return d.Memory.Empty(at)
}

// Close implements ledger.Store.
func (d *disk) Close() error {
	d.gone.Store(true)
	return nil
}

// spooled says whether an event of a request's attempt is on a gateway's disk.
func spooled(m *ledgertest.Memory, request uuid.UUID, attempt uint32, kinds ...events.Kind) bool {
	found := false
	if m == nil {
		return false
	}
	_ = m.Scan(context.Background(), 0, ledger.Filter{Request: request, Kinds: kinds}, 0, func(r *ledger.Row) error {
		found = found || r.Attempt == attempt
		return nil
	})
	return found
}
