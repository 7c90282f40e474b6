package admin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/waybill/waybill/events"
)

// Action is what an operator says with an action on an account.
type Action struct {
	Reason string      `json:"reason"`
	Scope  string      `json:"scope,omitempty"`
	Until  events.Time `json:"until,omitempty"`
	For    string      `json:"for,omitempty"` // a duration, instead of until
}

// Verb is an action that operators have.
type Verb struct {
	Name, Summary string
	Ends          bool // it needs an instant at which it ends
	make          func(events.OperatorAction) events.Payload
}

// Verbs are all of them.
func Verbs() []Verb {
	return []Verb{
		{"release", "End all evidence that keeps an account out", false, func(o events.OperatorAction) events.Payload { return &events.OperatorReleased{OperatorAction: o} }},
		{"park", "Set an account aside until an instant", true, func(o events.OperatorAction) events.Payload { return &events.OperatorParked{OperatorAction: o} }},
		{"drain", "Give an account no new work; its running answers end", false, func(o events.OperatorAction) events.Payload { return &events.OperatorDrained{OperatorAction: o} }},
		{"undrain", "End a drain and an operator's park", false, func(o events.OperatorAction) events.Payload { return &events.OperatorUndrained{OperatorAction: o} }},
	}
}

var errNoUntil = errors.New(`until is required, and in the future: a park ends by itself ("until": "2026-11-30T14:03:00Z", or "for": "2h")`)

// Operate appends an operator's action on an account and returns its position.
func (a *API) Operate(ctx context.Context, id, verb string, in Action) (events.Position, error) {
	i := slices.IndexFunc(Verbs(), func(v Verb) bool { return v.Name == verb })
	if i < 0 {
		return 0, problemf(http.StatusNotFound, "operators have no action %q", verb)
	}
	v := Verbs()[i]
	if err := a.known(id); err != nil {
		return 0, err
	}
	now := a.o.Engine.Now()
	act, err := in.checked(now)
	if err != nil {
		return 0, err
	}
	switch {
	case v.Ends && act.Until <= now:
		return 0, problemf(http.StatusUnprocessableEntity, "%s", errNoUntil)
	case !v.Ends:
		act.Until = 0
	}
	act.Actor = a.guard.Actor()
	got, err := a.o.Engine.Append(ctx, events.Draft{Header: events.Header{Account: id}, Data: v.make(act)})
	if err != nil {
		return 0, err
	}
	return got[0].Position, nil
}

func (in *Action) checked(now events.Time) (events.OperatorAction, error) {
	if strings.TrimSpace(in.Reason) == "" || len(in.Reason) > 1000 {
		return events.OperatorAction{}, problemf(http.StatusUnprocessableEntity, "reason is required, at most 1,000 bytes: say in a sentence why, it stays in the ledger")
	}
	scope, ok := events.ParseScope(in.Scope)
	if !ok || scope.Kind == events.ScopeNone || scope.Kind == events.ScopeRequest {
		return events.OperatorAction{}, problemf(http.StatusUnprocessableEntity, "scope: want account, group, endpoint, family:NAME or model:NAME")
	}
	until, err := in.until(now)
	return events.OperatorAction{Reason: in.Reason, Scope: scope, Until: until}, err
}

func (in *Action) until(now events.Time) (events.Time, error) {
	if in.For == "" {
		return in.Until, nil
	}
	d, err := time.ParseDuration(in.For)
	if err != nil || d <= 0 || in.Until != 0 {
		return 0, problemf(http.StatusUnprocessableEntity, "for: want a duration such as 2h, and no until beside it")
	}
	return now.Add(d), nil
}

// exampleOf is a body that a verb takes.
func exampleOf(verb string) string {
	for _, v := range Verbs() {
		if v.Name == verb && v.Ends {
			return `{"reason": "key rotation", "for": "2h"} or {"reason": "key rotation", "until": "2026-11-30T14:03:00Z"}`
		}
	}
	return `{"reason": "key rotation"}`
}

// operate makes the handler of one verb.
func operate(verb string) func(*API, http.ResponseWriter, *http.Request) error {
	return func(a *API, w http.ResponseWriter, r *http.Request) error {
		if err := newQuery(r).done(); err != nil {
			return err
		}
		id := mux.Vars(r)["id"]
		if err := a.known(id); err != nil {
			return err
		}
		var in Action
		if err := decode(r, &in, exampleOf(verb)); err != nil {
			return err
		}
		at, err := a.Operate(r.Context(), id, verb, in)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, accepted{at})
	}
}
