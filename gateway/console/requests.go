package console

import (
	"strconv"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/story"
)

// requestsPage is a list of requests and what narrows it.
type requestsPage struct {
	Rows     []requestRow
	Older    events.Position // where the next page begins, 0: there is none
	Paged    bool            // this is not the first page
	Filtered bool            // something narrows it
	Outcomes []string
	Asked    map[string]string // the filters as typed
}

// requestRow is a request in a list, and why it skipped whom it skipped.
type requestRow struct {
	story.Row
	Skips []inquiry.Skip // the first of them
	More  int            // how many others were skipped
}

// maxSkips bounds the skipped accounts that a row of a list names; the request's
// page has them all.
const maxSkips = 4

// filters are the parameters that narrow a list of requests.
func filters() []string {
	return []string{"outcome", "account", "skipped", "client", "model", "session", "since", "until"}
}

const pageRows = 50

func requestList(v *visit) error {
	q := v.r.URL.Query()
	p := requestsPage{Outcomes: requests.Outcomes(), Asked: map[string]string{}}
	for _, name := range filters() {
		p.Asked[name] = q.Get(name)
		p.Filtered = p.Filtered || p.Asked[name] != ""
	}
	ask, err := v.requestQuery(p.Asked)
	if err != nil {
		return err
	}
	if before := q.Get("before"); before != "" {
		if ask.Before, err = position(before); err != nil {
			return err
		}
		p.Paged = true
	}
	m, past := v.moment()
	var rows []story.Row
	var more bool
	if rows, more, err = v.c.api.Requests(v.r.Context(), m, past, ask); err != nil {
		return err
	}
	p.Rows = v.requestRows(rows)
	if more {
		p.Older = rows[len(rows)-1].Position
	}
	return v.show("requests", "Requests", p)
}

func (v *visit) requestRows(rows []story.Row) []requestRow {
	out := make([]requestRow, len(rows))
	for i := range rows {
		out[i] = requestRow{Row: rows[i], More: max(0, len(rows[i].Skipped)-maxSkips)}
		rows[i].Skipped = rows[i].Skipped[:len(rows[i].Skipped)-out[i].More]
	}
	for i, skips := range v.c.api.Skips(v.r.Context(), rows) {
		out[i].Skips = skips
	}
	return out
}

func (v *visit) requestQuery(asked map[string]string) (requests.Query, error) {
	ask := requests.Query{Account: asked["account"], Skipped: asked["skipped"], Client: asked["client"], Model: asked["model"],
		Session: asked["session"], Limit: pageRows}
	var err error
	if ask.Since, err = inquiry.When(asked["since"], v.frame.Ref()); err != nil {
		return ask, badRequest(err.Error())
	}
	if ask.Until, err = inquiry.When(asked["until"], v.frame.Ref()); err != nil {
		return ask, badRequest(err.Error())
	}
	if s := asked["outcome"]; s != "" {
		o, ok := requests.ParseOutcome(s)
		if !ok {
			return ask, badRequest("There is no outcome " + strconv.Quote(s) + ".")
		}
		ask.Outcome = &o
	}
	return ask, nil
}
