package admin

import (
	"context"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/story"
)

// requestRows lists requests: from the live view where it holds all that is
// asked for, else out of the ledger.
func (a *API) requestRows(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	ask := q.requests()
	if err := q.done(); err != nil {
		return err
	}
	rows, more, whole := a.liveRows(ask)
	if !whole {
		err := a.alone(r.Context(), func(ctx context.Context) (err error) {
			rows, more, err = inquiry.Requests(ctx, a.o.Log, ask)
			return err
		})
		if err != nil {
			return err
		}
	}
	out := list[story.Row]{Data: rows}
	if more {
		out.Next = &rows[len(rows)-1].Position
	}
	return answer(w, http.StatusOK, out)
}

// liveRows asks the live view. whole is false when older requests, which it may
// have dropped, could belong to the answer.
func (a *API) liveRows(ask requests.Query) (rows []story.Row, more, whole bool) {
	a.o.Engine.Requests(func(v *requests.View, _ events.Position) {
		var found []requests.Row
		found, more = v.List(ask)
		rows = story.Rows(found, v.Account)
		gone := v.Complete()
		last := events.Position(0)
		if len(found) > 0 {
			last = found[len(found)-1].First
		}
		whole = gone == 0 || !ask.OldestFirst && more && last > gone || ask.After >= gone
	})
	return rows, more, whole
}

// request is the whole story of one request.
func (a *API) request(w http.ResponseWriter, r *http.Request) error {
	if err := newQuery(r).done(); err != nil {
		return err
	}
	id, err := parseID(r)
	if err != nil {
		return err
	}
	var s story.Request
	err = a.alone(r.Context(), func(ctx context.Context) (err error) {
		s, err = inquiry.Story(ctx, a.o.Log, id)
		return err
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, s)
}
