package scenario

import (
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
)

// Outcome is one scripted answer of an upstream.
type Outcome struct {
	Class     events.Class
	Status    int
	Scope     events.Scope
	Hint      *events.Hint
	Permanent bool
	Onward    routing.Onward
	Retry     string // X-Should-Retry
	Reading   *events.Reading
	Took      time.Duration // from dispatch to the answer
	Committed bool          // bytes had reached the client
	Empty     bool
}

// Passed is the first meaningful frame of the open attempt.
func (r *Request) Passed() {
	a := r.open
	a.passed = true
	if t := a.decision.Trial; t != nil {
		p := &events.TrialPassed{Cells: t.Cells, DispatchedAt: a.at, AnsweredAt: r.Gateway.world.Now}
		r.Gateway.submit(events.Draft{Header: a.header, Data: p})
	}
}

// Finish answers the open attempt; the request then fails over, or is done.
func (r *Request) Finish(o Outcome) {
	a, g := r.open, r.Gateway
	r.open = nil
	g.inFlight[a.decision.Account]--
	g.follow()
	answer := events.Answer{Status: uint32(o.Status), DispatchedAt: a.at, AnsweredAt: g.world.Now, Reading: o.Reading}
	g.world.tracef("%s #%d %s%s -> %s", r.Name, r.attempt, a.header.Account, a.how(), o.String())
	if o.Class == events.ClassSuccess {
		r.succeed(a, answer)
		return
	}
	r.walked.Attempts = append(r.walked.Attempts, routing.Made{Account: a.decision.Account, Class: o.Class, Status: o.Status, Onward: o.Onward, ShouldRetry: o.Retry})
	r.walked.Elapsed, r.walked.Committed = g.world.Now.Sub(r.began), o.Committed
	r.last = routing.Last{Class: o.Class, Status: o.Status, Empty: o.Empty}
	policy := a.policy(g)
	ends := routing.MayFailover(&r.walked, policy)
	f := events.Failure{Answer: answer, Class: o.Class, Rule: "scripted", Scope: o.Scope, Hint: o.Hint, Permanent: o.Permanent, Committed: o.Committed, Passed: a.passed}
	if a.decision.Trial != nil {
		f.Step = a.decision.Trial.Step
	}
	f.Followed = events.FollowedReturned
	switch {
	case ends == routing.GoesOn:
		f.Followed = events.FollowedFailover
	case ends == routing.EndsCommitted || o.Class == events.ClassClientAborted:
		f.Followed = events.FollowedNothing
	}
	g.submit(events.Draft{Header: a.header, Data: events.FailureEvent(f)})
	if o.Onward == routing.OnwardOtherEndpoint {
		r.avoid = append(r.avoid, g.view.Admission.Roster()[a.decision.Account-1].Settings.Endpoint)
	}
	r.follow(ends)
	g.world.wake()
}

func (a *attempt) policy(g *Gateway) *events.Policy {
	doc, _ := g.view.Admission.Document()
	return &doc.Policy
}

func (r *Request) follow(ends routing.Ends) {
	switch {
	case ends == routing.GoesOn:
		r.next()
	case ends == routing.EndsCommitted || r.last.Class == events.ClassClientAborted:
		r.Done, r.Status = true, r.last.Status
		r.Gateway.world.tracef("%s broken off", r.Name)
	default:
		r.attempt++
		_, d := r.choose(0)
		left := d.Left()
		r.Done = true
		r.answered(&left)
	}
}

// answered gives the client the last answer, or what stands in for it.
func (r *Request) answered(left *routing.Refusal) {
	a := routing.Advise(r.last, left)
	r.Status, r.Code, r.RetryAfter = a.Status, a.Code, a.RetryAfter
	code := ""
	if a.Code != "" {
		code = " " + a.Code
	}
	r.Gateway.world.tracef("%s gets %d%s%s", r.Name, a.Status, code, retry(a.RetryAfter, a.RetrySource))
}

func (r *Request) succeed(a *attempt, answer events.Answer) {
	g := r.Gateway
	drafts := []events.Draft{{Header: a.header, Data: &events.AttemptSucceeded{Answer: answer, Terminal: "stop", Knew: a.stamp.View, KnewOwn: a.stamp.Pending}}}
	if pin := routing.AfterSuccess(g.view, &a.stamp, &a.decision); pin != nil {
		drafts = append(drafts, events.Draft{Header: a.header, Data: pin})
		switch p := pin.(type) {
		case *events.PinSet:
			g.world.tracef("%s pin.set %s", r.Name, a.header.Account)
		case *events.PinMoved:
			g.world.tracef("%s pin.moved %s > %s: %s", r.Name, r.idOf(p.From), a.header.Account, p.Cause)
		}
	}
	g.submit(drafts...)
	r.Done, r.Status, r.By = true, int(answer.Status), a.header.Account
	g.world.wake()
}

func (a *attempt) how() string {
	d := &a.decision
	s := ""
	if d.Model != a.stamp.Asked {
		s += " as " + d.Model
	}
	if d.Pinned {
		s += " pinned"
	}
	if d.LastPath {
		s += " last path"
	}
	if d.Unclaimed {
		s += " unclaimed"
	}
	if d.Trial != nil {
		s += fmt.Sprintf(" trial step %d", d.Trial.Step)
	}
	return s
}

func (o *Outcome) String() string {
	s := fmt.Sprint(o.Status)
	if o.Status == 0 {
		s = "no answer"
	}
	if o.Class != events.ClassSuccess {
		s += " " + o.Class.String()
	}
	return s
}
