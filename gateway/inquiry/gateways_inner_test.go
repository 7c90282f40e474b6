package inquiry

import (
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// written is one event.
type written struct {
	writer uuid.UUID
	view   events.Position // of a decision; 0: none
}

// tabled adds events that stand behind a position.
func tabled(after events.Position, list ...written) *table {
	t := table{from: after, rows: map[uuid.UUID]*Gateway{}}
	for i, w := range list {
		e := events.Event{Header: events.Header{Writer: w.writer}, Position: after + events.Position(i) + 1, Data: &events.QuotaFetchFailed{}}
		if w.view != 0 {
			e.Data = &events.AttemptRouted{Stamp: events.Stamp{View: w.view}}
		}
		_ = t.add(&e) // it has no error
	}
	return &t
}

func TestAGatewaysLagIsWhatOthersWroteBehindItsView(t *testing.T) {
	a, b := uuid.UUID{1}, uuid.UUID{2}
	rows := []struct {
		name    string
		list    []written
		of      uuid.UUID
		lag     uint64
		decided events.Position
		atLeast bool
	}{
		{"alone it lacks nothing, however late its view is", []written{{a, 0}, {a, 0}, {a, 100}}, a, 0, 103, false},
		{"it lacks what others wrote between its view and its decision", []written{{a, 0}, {b, 0}, {b, 0}, {a, 101}}, a, 2, 104, false},
		{"what it had folded is not lacking", []written{{a, 0}, {b, 0}, {b, 0}, {a, 103}}, a, 0, 104, false},
		{"what came after its decision is not counted", []written{{b, 0}, {a, 101}, {b, 0}, {b, 0}}, a, 0, 102, false},
		{"the last decision counts", []written{{b, 0}, {a, 100}, {b, 0}, {a, 103}}, a, 0, 104, false},
		{"a view before what is looked at: at least", []written{{b, 0}, {b, 0}, {a, 7}}, a, 2, 103, true},
		{"who decided nothing is not known", []written{{b, 0}, {a, 100}}, b, 0, 0, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			g := tabled(100, row.list...).rows[row.of]
			if g == nil || g.Lag != row.lag || g.Decided != row.decided || g.AtLeast != row.atLeast {
				t.Errorf("%+v", g)
			}
		})
	}
}
