package engine

import (
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
)

// FailedOver records a failure in one step with what follows it, so that the
// event says so truly: the failure is folded, the next decision is made on that
// view, and only then is the event complete. ask is the next attempt's. With
// goesOn false the request ends here whoever is left.
//
// It returns the next attempt where it could be decided at once, or what is left
// when this answer is the client's; reply makes the event's Reply of that. Both
// nil: another account has to be waited for or claimed (Decide), and a request
// that then finds nobody ends with Ended.
func (a *Attempt) FailedOver(f events.Failure, ask Ask, goesOn bool, reply func(left *Refusal) *events.Reply) (*Attempt, *Refusal) {
	e := a.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if !a.end() {
		return nil, nil
	}
	a.complete(&f)
	f.Followed = events.FollowedSearch
	able := e.admits() == nil
	d := []events.Draft{{Header: a.header, Data: events.FailureEvent(f)}}
	now := e.nowFunc()
	e.number(now, d)
	e.pend(now, d)
	w := &walk{ask: ask}
	s, next := e.choose(w, now)
	// The overlay holds this payload, too; nothing that decides reads these two.
	folded, _ := events.FailureOf(d[0].Data)
	var left *Refusal
	switch {
	case !goesOn || next.Action == routing.Refuse:
		left = &Refusal{Refusal: next.Refusal, Candidates: slices.Clone(next.Candidates), Stamp: s}
		folded.Followed, folded.Reply = events.FollowedReturned, reply(left)
	case next.Action == routing.Dispatch && able:
		folded.Followed = events.FollowedFailover
	}
	e.submitFolded(d[0])
	if folded.Followed != events.FollowedFailover {
		return nil, left
	}
	b, err := e.dispatch(w, s, &next)
	if err != nil { // Decide will say so again
		e.logger.Error("a failover could not be recorded", "request", ask.Request, "error", err)
	}
	return b, nil
}

// Ended records the end of a request whose last outcome said that another
// account was looked for (FollowedSearch): nobody was found in time, or the
// client left. ask is that of the attempt that did not come to be.
func (e *Engine) Ended(ask Ask, p events.RequestEnded) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var drafts []events.Draft
	drafts, p.Reply = e.short(drafts, ask, p.Reply)
	e.behind(append(drafts, events.Draft{Header: events.Header{Request: ask.Request}, Data: &p})...)
}

// short refers to a long list of what is left instead of holding it. e.mu is
// held.
func (e *Engine) short(drafts []events.Draft, ask Ask, r events.Reply) ([]events.Draft, events.Reply) {
	if len(r.Left) <= routing.MaxInline {
		return drafts, r
	}
	drafts, r.Listed = e.list(drafts, &walk{ask: ask}, r.Left)
	r.Left = nil
	return drafts, r
}
