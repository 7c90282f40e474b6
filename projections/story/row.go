package story

import (
	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/requests"
)

// Row is one request in a list.
type Row struct {
	Request    uuid.UUID         `json:"request"`
	Started    events.Time       `json:"started"`
	Ended      events.Time       `json:"ended"`
	DurationMS int64             `json:"duration_ms"`
	Client     string            `json:"client"`
	Dialect    string            `json:"dialect"`
	Model      string            `json:"model"`
	Session    string            `json:"session"`
	Outcome    string            `json:"outcome"`
	Status     uint32            `json:"status"`
	Code       string            `json:"code"`
	Class      string            `json:"class"`
	Account    string            `json:"account"` // that served
	Tried      []string          `json:"tried"`
	Skipped    []string          `json:"skipped"`
	Attempts   int               `json:"attempts"`
	Position   events.Position   `json:"position"` // of its first decision; pages go by it
	Last       events.Position   `json:"last_position"`
	Decisions  []events.Position `json:"decisions"`
}

// Rows turns the rows of a requests view into those of a list; name gives an
// account's id by its roster number.
func Rows(list []requests.Row, name func(uint32) string) []Row {
	out := make([]Row, len(list))
	names := func(nos []uint32) []string {
		ids := make([]string, len(nos))
		for i, no := range nos {
			ids[i] = name(no)
		}
		return ids
	}
	for i := range list {
		r := &list[i]
		out[i] = Row{Request: r.ID, Started: r.Started, Ended: r.Ended, Client: r.Client, Dialect: r.Dialect.String(), Model: r.Asked,
			Session: r.Session.String(), Outcome: r.Outcome.String(), Status: r.Status, Code: r.Code, Class: r.Class.String(),
			Account: name(r.Served), Tried: names(r.Tried), Skipped: names(r.Skipped), Attempts: r.Attempts(),
			Position: r.First, Last: r.Last, Decisions: r.Decisions}
		if r.Ended != 0 {
			out[i].DurationMS = r.Ended.Sub(r.Started).Milliseconds()
		}
	}
	return out
}
