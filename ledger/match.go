package ledger

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// Match says whether an event is one that the filter lets through: what a
// store's Scan does in its own language, for events that are at hand.
func (f *Filter) Match(e *events.Event) bool {
	return f.lets(&e.Header, e.Data.Kind(), e.RecordedAt, e.Position)
}

// MatchRow is Match for a row that is not decoded.
func (f *Filter) MatchRow(r *Row) bool { return f.lets(&r.Header, r.Kind, r.RecordedAt, r.Position) }

func (f *Filter) lets(h *events.Header, kind events.Kind, at events.Time, p events.Position) bool {
	switch {
	case f.Account != "" && h.Account != f.Account,
		f.Request != uuid.Nil && h.Request != f.Request,
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, kind),
		f.Since != 0 && at < f.Since,
		f.Until != 0 && at >= f.Until,
		f.UpTo != 0 && p > f.UpTo:
		return false
	}
	return true
}
