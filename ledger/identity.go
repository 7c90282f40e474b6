package ledger

import (
	"context"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// Scanner is what a look at single rows needs; Store and *Log are ones.
type Scanner interface {
	Scan(ctx context.Context, after events.Position, f Filter, limit int, fn func(*Row) error) error
}

// Identity is the id of a ledger's first event, which names the ledger: an
// exact copy has the same, another ledger another one. Nil: it is empty.
func Identity(ctx context.Context, s Scanner) (id uuid.UUID, err error) {
	if g := layoutOf(s); g != nil {
		l, err := g.Layout(ctx, 0)
		if err != nil || len(l.Archived) > 0 {
			return l.Name(), err
		}
	}
	err = s.Scan(ctx, 0, Filter{}, 1, func(r *Row) error {
		id = r.ID
		return nil
	})
	return id, err
}

// Name is the ledger's name as its archives know it, nil without any.
func (l *Layout) Name() uuid.UUID {
	if len(l.Archived) == 0 {
		return uuid.Nil
	}
	return l.Archived[0].Ledger
}

func layoutOf(s Scanner) Segmented {
	if g, ok := s.(Segmented); ok {
		return g
	}
	if store, ok := s.(Store); ok {
		g, _ := Part[Segmented](store)
		return g
	}
	return nil
}
