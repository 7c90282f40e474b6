package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/gateway/quota"
	"github.com/waybill/waybill/projections/routing"
	"github.com/waybill/waybill/projections/story"
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
	all, err := a.accountsAt(r.Context(), m, asked, "", model)
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
	all, err := a.accountsAt(r.Context(), m, asked, mux.Vars(r)["id"], model)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, all[0])
}

func (a *API) accountsAt(ctx context.Context, m inquiry.Moment, asked bool, id, model string) (out []story.Account, err error) {
	if !asked {
		return a.live(ctx, id, model)
	}
	err = a.alone(ctx, func(ctx context.Context) error {
		out, err = inquiry.Accounts(ctx, a.o.Log, m, id, model)
		return err
	})
	return out, err
}

// live reads the running gateway's view.
func (a *API) live(ctx context.Context, id, model string) ([]story.Account, error) {
	var taken []story.Taken
	a.o.Engine.View(func(v routing.View, at events.Position, now events.Time) {
		for _, acct := range v.Admission.Roster() {
			if id == acct.ID || id == "" && !acct.Retired {
				taken = append(taken, story.Take(v.Admission, acct.No, model, at, now))
			}
		}
	})
	if id != "" && len(taken) == 0 {
		return nil, problemf(http.StatusNotFound, "account %s: %s", id, inquiry.ErrUnknownAccount)
	}
	look := inquiry.Lookup(ctx, a.o.Log)
	out := make([]story.Account, len(taken))
	for i := range taken {
		out[i] = taken[i].Finish(look, a.o.Engine.InFlight(taken[i].No()))
	}
	return out, nil
}

// known checks that an account is enrolled.
func (a *API) known(id string) error {
	found := false
	a.o.Engine.View(func(v routing.View, _ events.Position, _ events.Time) { found = v.Admission.Account(id) != nil })
	if !found {
		return problemf(http.StatusNotFound, "account %s: %s", id, inquiry.ErrUnknownAccount)
	}
	return nil
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

// action is the body of an operator's call.
type action struct {
	Reason string      `json:"reason"`
	Scope  string      `json:"scope"`
	Until  events.Time `json:"until"`
	For    string      `json:"for"` // a duration, instead of until
}

func (a *API) action(r *http.Request) (events.OperatorAction, error) {
	var in action
	b, err := body(r)
	if err != nil {
		return events.OperatorAction{}, err
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return events.OperatorAction{}, problemf(http.StatusBadRequest, `the body is no JSON object such as {"reason": "..."}: %s`, err)
	}
	if in.Reason == "" || len(in.Reason) > 1000 {
		return events.OperatorAction{}, problemf(http.StatusUnprocessableEntity, "reason is required: say in a sentence why, it stays in the ledger")
	}
	scope, ok := events.ParseScope(in.Scope)
	if !ok || scope.Kind == events.ScopeNone || scope.Kind == events.ScopeRequest {
		return events.OperatorAction{}, problemf(http.StatusUnprocessableEntity, "scope: want account, group, endpoint, family:NAME or model:NAME")
	}
	until, err := in.until(a.o.Engine.Now())
	return events.OperatorAction{Actor: a.guard.actor(), Reason: in.Reason, Scope: scope, Until: until}, err
}

func (in *action) until(now events.Time) (events.Time, error) {
	if in.For == "" {
		return in.Until, nil
	}
	d, err := time.ParseDuration(in.For)
	if err != nil || d <= 0 || in.Until != 0 {
		return 0, problemf(http.StatusUnprocessableEntity, "for: want a duration such as 2h, and no until beside it")
	}
	return now.Add(d), nil
}

var errNoUntil = errors.New("until is required: a park ends by itself (or send for, such as 2h)")

// operate makes the handler of one operator action.
func operate(make func(events.OperatorAction) events.Payload, park bool) func(*API, http.ResponseWriter, *http.Request) error {
	return func(a *API, w http.ResponseWriter, r *http.Request) error {
		id := mux.Vars(r)["id"]
		if err := a.known(id); err != nil {
			return err
		}
		act, err := a.action(r)
		if err != nil {
			return err
		}
		switch {
		case park && act.Until <= a.o.Engine.Now():
			return problemf(http.StatusUnprocessableEntity, "%s", errNoUntil)
		case !park:
			act.Until = 0
		}
		return a.append(w, r, http.StatusOK, events.Draft{Header: events.Header{Account: id}, Data: make(act)})
	}
}
