package ledger

import (
	"context"
	"fmt"

	"github.com/waybill/waybill/events"
)

// Strays is implemented by stores whose tables can hold rows that are no part
// of the ledger: no scan up to the head meets them.
type Strays interface {
	// Stray is the fault of the first such row, nil when there is none.
	Stray(ctx context.Context) (*Fault, error)
}

// StrayAt is the fault of a row behind the head.
func StrayAt(at, head events.Position) *Fault {
	return &Fault{at, FaultHead, fmt.Sprintf("a row stands here that nobody appended: the ledger ends at %d, and cannot go on across it", head)}
}

// Stray is the store's, nil where no row can stand outside of the ledger.
func (l *Log) Stray(ctx context.Context) (*Fault, error) { return Stray(ctx, l.store) }

// Stray is Log.Stray of a store that is not opened as a Log.
func Stray(ctx context.Context, s Store) (*Fault, error) {
	if p, ok := Part[Strays](s); ok {
		return p.Stray(ctx)
	}
	return nil, nil
}
