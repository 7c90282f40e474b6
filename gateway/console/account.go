package console

import (
	"fmt"
	"time"

	"github.com/gorilla/mux"

	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/story"
)

// accountPage is one account: its story, its quota, and what operators may do.
type accountPage struct {
	story.Account
	Bars    []bar
	Stamp   string
	Actions []admin.Verb
	Wrong   string // why an action was not taken
	Tried   string // which one
	Reason  string // what was typed
	For     string
	Spans   []span
	Showing string // the span of the timeline
}

// span is how far back a timeline goes.
type span struct {
	Name string
	Long time.Duration
}

func spans() []span {
	return []span{{"1h", time.Hour}, {"6h", 6 * time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}, {"30d", 30 * 24 * time.Hour}}
}

// span is the one that is asked for, else the shortest one that reaches back to
// the ledger's beginning, and six hours at most.
func (v *visit) span() span {
	all := spans()
	for _, s := range all {
		if s.Name == v.r.URL.Query().Get("span") {
			return s
		}
	}
	if v.frame.Ref().Sub(v.frame.First) < all[0].Long {
		return all[0]
	}
	return all[1]
}

func account(v *visit) error {
	p, err := v.account()
	if err != nil {
		return err
	}
	if v.unchanged(p.Stamp) {
		return nil
	}
	if v.partial() {
		return v.part("account", "live", p)
	}
	return v.show("account", p.ID, p)
}

func (v *visit) account() (*accountPage, error) {
	m, past := v.moment()
	q := v.r.URL.Query()
	all, err := v.c.api.Accounts(v.r.Context(), m, past, mux.Vars(v.r)["id"], q.Get("model"))
	if err != nil {
		return nil, err
	}
	p := &accountPage{Account: all[0], Bars: bars(all[0].Windows), Stamp: stamp(all), Actions: admin.Verbs(), Spans: spans(), Showing: v.span().Name}
	return p, nil
}

// operate takes an operator's action, and shows the account again.
func operate(v *visit) error {
	if v.frame.At != 0 {
		return badRequest("The past cannot be changed: go back to now.")
	}
	id, verb, form := mux.Vars(v.r)["id"], mux.Vars(v.r)["verb"], v.r.PostForm
	until, err := inquiry.When(form.Get("until"), v.frame.Now)
	if err == nil {
		in := admin.Action{Reason: form.Get("reason"), Scope: form.Get("scope"), Until: until, For: form.Get("for")}
		at, failed := v.c.api.Operate(v.r.Context(), id, verb, in)
		if failed == nil {
			return v.to("/accounts/"+id, "recorded", fmt.Sprint(at))
		}
		err = failed
	}
	p, again := v.account()
	if again != nil {
		return again
	}
	problem := admin.ProblemOf(err)
	p.Wrong, p.Tried, p.Reason, p.For = problem.Detail, verb, form.Get("reason"), form.Get("for")
	v.frame.Path = "/accounts/" + id
	return v.showAs(problem.Status, "account", p.ID, p)
}
