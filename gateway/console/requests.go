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
	Rows     []story.Row
	Older    events.Position // where the next page begins, 0: there is none
	Paged    bool            // this is not the first page
	Outcomes []string
	Asked    map[string]string // the filters as typed
}

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
	var more bool
	if p.Rows, more, err = v.c.api.Requests(v.r.Context(), m, past, ask); err != nil {
		return err
	}
	if more {
		p.Older = p.Rows[len(p.Rows)-1].Position
	}
	return v.show("requests", "Requests", p)
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
	if at := v.frame.At; at != 0 && (ask.Until == 0 || ask.Until > at) {
		ask.Until = at + 1 // what began at that instant had begun
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
