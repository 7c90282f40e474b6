package ledger

import (
	"context"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// Identity is the id of a ledger's first event, which names the ledger: an
// exact copy has the same, another ledger another one. Nil: it is empty.
func Identity(ctx context.Context, s interface {
	Scan(ctx context.Context, after events.Position, f Filter, limit int, fn func(*Row) error) error
}) (id uuid.UUID, err error) {
	err = s.Scan(ctx, 0, Filter{}, 1, func(r *Row) error {
		id = r.ID
		return nil
	})
	return id, err
}
