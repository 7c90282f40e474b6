package admin

import (
	"net/http"

	"github.com/waybill/waybill/projections/story"
)

// requestRows lists requests.
func (a *API) requestRows(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	ask := q.requests()
	m, asked := q.moment(a.o.Engine.Now())
	if err := q.done(); err != nil {
		return err
	}
	rows, more, err := a.Requests(r.Context(), m, asked, ask)
	if err != nil {
		return err
	}
	out := list[story.Row]{Data: rows}
	if more {
		out.Next = &rows[len(rows)-1].Position
	}
	return answer(w, http.StatusOK, out)
}

// request is the whole story of one request.
func (a *API) request(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	m, _ := q.moment(a.o.Engine.Now())
	if err := q.done(); err != nil {
		return err
	}
	id, err := parseID(r)
	if err != nil {
		return err
	}
	s, err := a.Story(r.Context(), m, id)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, s)
}
