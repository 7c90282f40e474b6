package ledger

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// Match says whether an event is one that the filter lets through: what a
// store's Scan does in its own language, for events that are at hand.
func (f *Filter) Match(e *events.Event) bool {
	switch {
	case f.Account != "" && e.Account != f.Account,
		f.Request != uuid.Nil && e.Request != f.Request,
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Data.Kind()),
		f.Since != 0 && e.RecordedAt < f.Since,
		f.Until != 0 && e.RecordedAt >= f.Until,
		f.UpTo != 0 && e.Position > f.UpTo:
		return false
	}
	return true
}
