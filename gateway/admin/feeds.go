package admin

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/gorilla/mux"

	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
)

// requeueAsk is the body of a requeue.
type requeueAsk struct {
	IDs []uuid.UUID `json:"ids,omitempty"` // absent: all
}

// requeueDone is its answer.
type requeueDone struct {
	Requeued int `json:"requeued"`
}

// feeds lists the consumers of committed events.
func (a *API) feeds(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	limit, after := q.limit(), q.position("after")
	if err := q.done(); err != nil {
		return err
	}
	out, err := a.Feeds(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, paged(out, limit, after))
}

// Feeds are the consumers of committed events that have a place.
func (a *API) Feeds(ctx context.Context) ([]inquiry.Feed, error) {
	if a.o.Books == nil {
		return []inquiry.Feed{}, nil
	}
	return inquiry.Feeds(ctx, a.o.Log, a.o.Books)
}

// poisoned lists what a consumer did not take.
func (a *API) poisoned(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	limit, after := q.limit(), q.position("after")
	if err := q.done(); err != nil {
		return err
	}
	books, err := a.books()
	if err != nil {
		return err
	}
	aside, err := inquiry.Poisoned(r.Context(), books, mux.Vars(r)["name"])
	if err != nil {
		return err
	}
	if aside == nil {
		aside = []ledger.Message{}
	}
	return answer(w, http.StatusOK, paged(aside, limit, after))
}

// requeue has what a consumer did not take delivered again.
func (a *API) requeue(w http.ResponseWriter, r *http.Request) error {
	if err := newQuery(r).done(); err != nil {
		return err
	}
	var ask requeueAsk
	b, err := body(r)
	if err == nil && len(b) > 0 {
		err = oneObject(b, &ask, `{} or {"ids": [...]}`)
	}
	if err != nil {
		return err
	}
	books, err := a.books()
	if err != nil {
		return err
	}
	n, err := inquiry.Requeue(r.Context(), books, mux.Vars(r)["name"], ask.IDs...)
	if err != nil {
		return err
	}
	return answer(w, http.StatusAccepted, requeueDone{Requeued: n})
}

func (a *API) books() (ledger.Books, error) {
	if a.o.Books == nil {
		return nil, problemf(http.StatusNotFound, "this gateway keeps no feeds")
	}
	return a.o.Books, nil
}
