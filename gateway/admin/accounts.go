package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gorilla/mux"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/gateway/quota"
	"github.com/waybill/waybill/projections/routing"
)

// maxBody bounds what a call may send.
const maxBody = 1 << 20

// accounts lists the accounts, live or as of a moment.
func (a *API) accounts(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	m, asked := q.moment(a.o.Engine.Now())
	model := q.get("model")
	limit, after := q.limit(), q.position("after")
	if err := q.done(); err != nil {
		return err
	}
	all, err := a.Accounts(r.Context(), m, asked, "", model)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, paged(all, limit, after))
}

// paged cuts a list whose positions are its ranks.
func paged[T any](all []T, limit int, after events.Position) list[T] {
	from := min(int(after), len(all))
	out := list[T]{Data: all[from:]}
	if len(out.Data) > limit {
		next := events.Position(from + limit)
		out.Data, out.Next = out.Data[:limit], &next
	}
	return out
}

// account is one account, and of a model where one is named.
func (a *API) account(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	m, asked := q.moment(a.o.Engine.Now())
	model := q.get("model")
	if err := q.done(); err != nil {
		return err
	}
	all, err := a.Accounts(r.Context(), m, asked, mux.Vars(r)["id"], model)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, all[0])
}

// known checks that an account is enrolled.
func (a *API) known(id string) error {
	found := false
	a.o.Engine.View(func(v routing.View, _ events.Position, _ events.Time) { found = v.Admission.Account(id) != nil })
	if !found {
		return fmt.Errorf("account %s: %w", id, inquiry.ErrUnknownAccount)
	}
	return nil
}

// decode reads a body that must be one JSON object.
func decode(r *http.Request, into any, example string) error {
	b, err := body(r)
	if err != nil {
		return err
	}
	return oneObject(b, into, example)
}

// oneObject reads one JSON object of the members that into has: a misspelt one
// would say nothing and change what is done.
func oneObject(b []byte, into any, example string) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || d.More() {
		return problemf(http.StatusBadRequest, "the body: want one JSON object such as %s%s", example, because(err))
	}
	return nil
}

func because(err error) string {
	if err == nil {
		return ", and nothing behind it"
	}
	return ": " + strings.TrimPrefix(err.Error(), "json: ")
}

func body(r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, problemf(http.StatusBadRequest, "the body could not be read: %s", err)
	}
	if len(b) > maxBody {
		return nil, problemf(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", maxBody)
	}
	return b, nil
}

// accepted answers with where the event stands.
type accepted struct {
	Position events.Position `json:"position"`
}

func (a *API) append(w http.ResponseWriter, r *http.Request, status int, d events.Draft) error {
	got, err := a.o.Engine.Append(r.Context(), d)
	if err != nil {
		return err
	}
	return answer(w, status, accepted{got[0].Position})
}

// reading appends what somebody's own scraper has seen.
func (a *API) reading(w http.ResponseWriter, r *http.Request) error {
	if err := newQuery(r).done(); err != nil {
		return err
	}
	id := mux.Vars(r)["id"]
	if err := a.known(id); err != nil {
		return err
	}
	b, err := body(r)
	if err != nil {
		return err
	}
	reading, at, err := quota.Push(b, a.o.Engine.Now())
	if err != nil {
		return err
	}
	return a.append(w, r, http.StatusAccepted, events.Draft{
		Header: events.Header{Account: id, ObservedAt: at}, Data: &events.QuotaFetched{Reading: *reading}})
}
