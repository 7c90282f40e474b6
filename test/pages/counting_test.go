package pages

import (
	"context"
	"sync"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// cost is what a call read.
type cost struct {
	rows  int   // events
	bytes int64 // of snapshots, packed
}

// counting is a ledger that counts what is read of it.
type counting struct {
	*ledger.Log
	mu   sync.Mutex
	cost cost
}

func (c *counting) add(rows int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cost.rows += rows
	c.cost.bytes += bytes
}

func (c *counting) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	return c.Log.Scan(ctx, after, f, limit, func(r *ledger.Row) error {
		c.add(1, 0)
		return fn(r)
	})
}

func (c *counting) Read(ctx context.Context, after events.Position, f ledger.Filter, limit int) ([]events.Event, error) {
	got, err := c.Log.Read(ctx, after, f, limit)
	c.add(len(got), 0)
	return got, err
}

func (c *counting) Each(ctx context.Context, after events.Position, f ledger.Filter, fn func(*events.Event) error) error {
	return c.Log.Each(ctx, after, f, func(e *events.Event) error {
		c.add(1, 0)
		return fn(e)
	})
}

func (c *counting) Snapshots() ledger.Snapshots { return table{c.Log.Snapshots(), c} }

// table counts the bytes of the snapshots that it gives.
type table struct {
	ledger.Snapshots
	c *counting
}

func (t table) Newest(ctx context.Context, name string, version uint32, upTo events.Position) (ledger.Snapshot, bool, error) {
	s, ok, err := t.Snapshots.Newest(ctx, name, version, upTo)
	t.c.add(0, int64(len(s.State)))
	return s, ok, err
}
