package ledger

import (
	"context"

	"github.com/waybill/waybill/events"
)

// Restorer is a store that takes rows with the places that they had in another
// ledger: what import needs. Both drivers and the store in memory are ones.
type Restorer interface {
	// Restore appends rows atomically and durably. They must follow the head
	// without a gap, and their hashes the chain; otherwise nothing is appended
	// and the error is a *Fault.
	Restore(ctx context.Context, rows []Row) error
}

// Follows checks that a row may stand after a head.
func (h *Head) Follows(r *Row, content events.Hash) *Fault { return NewChecker(*h).Next(r, content) }
