package inquiry

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
)

// Lately is how many of a ledger's newest events tell of the gateways on it.
const Lately = 1000

// Gateway is a process that writes a ledger, as far as its events tell: what it
// has written last, and how far it had followed the others when it decided last.
type Gateway struct {
	Writer     uuid.UUID       `json:"writer"`
	Own        bool            `json:"own"`         // it is the one that answers
	Position   events.Position `json:"position"`    // of its last event
	RecordedAt events.Time     `json:"recorded_at"` // of that
	Decided    events.Position `json:"decided"`     // its last decision; 0: none lately, and how far it is is unknown
	View       events.Position `json:"view"`        // that it was made on
	Lag        uint64          `json:"lag"`         // events of others before the decision that the view lacked
	AtLeast    bool            `json:"at_least"`    // the view lies before what was looked at: of the lag only a part is counted
}

// Gateways lists the writers of the newest events up to a position, the last to
// write first. What is archived is not looked at.
func Gateways(ctx context.Context, log Log, at events.Position) ([]Gateway, error) {
	l, err := log.Layout(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("list gateways: %w", err)
	}
	t := table{from: min(at, max(at-min(at, Lately), l.Anchor().Position)), rows: map[uuid.UUID]*Gateway{}}
	if at > 0 {
		if err := views.Each(ctx, log, t.from, at, t.add); err != nil {
			return nil, fmt.Errorf("list gateways: %w", err)
		}
	}
	out := make([]Gateway, 0, len(t.rows))
	for _, g := range t.rows {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Gateway) int { return cmp.Compare(b.Position, a.Position) })
	return out, nil
}

// table collects gateways by writer.
type table struct {
	from    events.Position // what was looked at begins after it
	writers []uuid.UUID     // of its events
	rows    map[uuid.UUID]*Gateway
}

func (t *table) add(e *events.Event) error {
	g := t.rows[e.Writer]
	if g == nil {
		g = &Gateway{Writer: e.Writer}
		t.rows[e.Writer] = g
	}
	g.Position, g.RecordedAt = e.Position, e.RecordedAt
	if view, ok := viewOf(e.Data); ok {
		g.Decided, g.View, g.AtLeast = e.Position, view, view < t.from
		g.Lag = t.others(view, e.Writer)
	}
	t.writers = append(t.writers, e.Writer)
	return nil
}

// others counts the events after a position that another writer wrote.
func (t *table) others(after events.Position, writer uuid.UUID) (n uint64) {
	for _, w := range t.writers[min(max(after, t.from)-t.from, events.Position(len(t.writers))):] {
		if w != writer {
			n++
		}
	}
	return n
}

// viewOf is the position of the view that a decision was made on.
func viewOf(p events.Payload) (events.Position, bool) {
	switch p := p.(type) {
	case *events.AttemptRouted:
		return p.Stamp.View, true
	case *events.RequestRefused:
		return p.Stamp.View, true
	}
	return 0, false
}
