package engine

import (
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
)

// FailedOver records a failure in one step with the question who is left, so
// that the event says truly what followed: the failure is folded, the next
// decision is tried on that view, and only then is the event complete. ask is
// the next attempt's. With goesOn false the request ends here whoever is left.
//
// It returns what is left when this answer is the client's, nil when the next
// attempt is to be asked for; reply makes the event's Reply of it.
func (a *Attempt) FailedOver(f events.Failure, ask Ask, goesOn bool, reply func(left *Refusal) *events.Reply) *Refusal {
	e := a.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if !a.end() {
		return nil
	}
	a.complete(&f)
	f.Followed = events.FollowedFailover
	d := []events.Draft{{Header: a.header, Data: events.FailureEvent(f)}}
	now := e.nowFunc()
	e.number(now, d)
	e.pend(now, d)
	left := e.left(&ask, goesOn, now)
	if left != nil {
		// The overlay holds this payload, too; nothing that decides reads these two.
		folded, _ := events.FailureOf(d[0].Data)
		folded.Followed, folded.Reply = events.FollowedReturned, reply(left)
	}
	e.submitFolded(d[0])
	return left
}

// left is what a next decision says when it finds nobody, or when there may be
// no next attempt. e.mu is held.
func (e *Engine) left(ask *Ask, goesOn bool, now events.Time) *Refusal {
	s, d := e.choose(&walk{ask: *ask}, now)
	if d.Action != routing.Refuse && goesOn {
		return nil
	}
	return &Refusal{Refusal: d.Refusal, Candidates: slices.Clone(d.Candidates), Stamp: s}
}
