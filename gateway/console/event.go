package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/gorilla/mux"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/story"
)

// eventRow is an event in a list: what it is about, in a line.
type eventRow struct {
	events.Event
	Type    string
	Summary string
}

func rowOf(e *events.Event) eventRow {
	return eventRow{*e, e.Data.Kind().String(), story.Summary(e)}
}

// HasRequest says whether the event belongs to a request.
func (r eventRow) HasRequest() bool { return r.Request != uuid.Nil }

// eventPage is one event as it is stored, with those around it.
type eventPage struct {
	eventRow
	JSON           string // canonical, as the API and an export have it
	Before, After  []eventRow
	Next, Previous events.Position
}

// around is how many neighbours an event is shown with, on each side.
const around = 4

func event(v *visit) error {
	at, err := position(mux.Vars(v.r)["position"])
	if err != nil {
		return err
	}
	first := at - min(at, around+1)
	got, err := v.c.api.Events(v.r.Context(), first, ledger.Filter{}, int(at-first)+around)
	if err != nil {
		return err
	}
	p := eventPage{}
	for i := range got {
		switch e := &got[i]; {
		case e.Position < at:
			p.Before, p.Previous = append(p.Before, rowOf(e)), e.Position
		case e.Position > at:
			if p.After = append(p.After, rowOf(e)); p.Next == 0 {
				p.Next = e.Position
			}
		default:
			p.eventRow, p.JSON = rowOf(e), indented(events.AppendJSON(nil, e))
		}
	}
	if p.JSON == "" {
		return notFound("The ledger has no event at position " + mux.Vars(v.r)["position"] + ".")
	}
	return v.show("event", "Event "+mux.Vars(v.r)["position"], p)
}

// indented sets canonical JSON for reading; its members and their order stay.
func indented(b []byte) string {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return string(b)
	}
	return out.String()
}

// eventsPage is a list of events, oldest first.
type eventsPage struct {
	Rows     []eventRow
	Newer    events.Position // where the next page begins
	Older    bool            // there are events before this page
	Back     string          // after which position they begin
	Filtered bool
	Asked    map[string]string
	Kinds    []string
}

func eventList(v *visit) error {
	q := v.r.URL.Query()
	p := eventsPage{Asked: map[string]string{}, Kinds: events.KindNames()}
	for _, name := range []string{"account", "request", "type", "since", "after"} {
		p.Asked[name] = q.Get(name)
	}
	f, err := v.eventFilter(p.Asked)
	if err != nil {
		return err
	}
	p.Filtered = p.Asked["account"]+p.Asked["request"]+p.Asked["type"]+p.Asked["since"] != ""
	after, err := v.eventsAfter(p.Asked["after"], p.Filtered)
	if err != nil {
		return err
	}
	got, err := v.c.api.Events(v.r.Context(), after, f, pageRows+1)
	if err != nil {
		return err
	}
	for i := range got[:min(len(got), pageRows)] {
		p.Rows = append(p.Rows, rowOf(&got[i]))
	}
	if len(got) > pageRows {
		p.Newer = got[pageRows-1].Position
	}
	if !p.Filtered && after > 0 {
		p.Older, p.Back = true, fmt.Sprint(after-min(after, pageRows))
	}
	return v.show("events", "Events", p)
}

// eventsAfter is where a list begins: as asked, else with the last events, or
// with the first ones that match.
func (v *visit) eventsAfter(asked string, filtered bool) (events.Position, error) {
	if asked != "" {
		return position(asked)
	}
	if filtered {
		return 0, nil
	}
	m, _ := v.moment()
	head, err := inquiry.Place(v.r.Context(), v.c.api.Log(), m)
	return head - min(head, pageRows), err
}

func (v *visit) eventFilter(asked map[string]string) (f ledger.Filter, err error) {
	f = ledger.Filter{Account: asked["account"]}
	if f.Since, err = inquiry.When(asked["since"], v.frame.Ref()); err != nil {
		return f, badRequest(err.Error())
	}
	if v.frame.At != 0 {
		f.Until = v.frame.At + 1
	}
	if s := asked["request"]; s != "" {
		if f.Request, err = uuid.Parse(strings.TrimSpace(s)); err != nil {
			return f, badRequest("A request id is a UUID, as Waybill-Request-Id has it.")
		}
	}
	if s := asked["type"]; s != "" {
		k, ok := events.ParseKind(s)
		if !ok {
			return f, badRequest("There is no event type " + strconv.Quote(s) + ".")
		}
		f.Kinds = append(f.Kinds, k)
	}
	return f, nil
}
