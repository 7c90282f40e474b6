// Package whatif plays recorded traffic again under another policy. Two worlds
// are folded side by side from the same events: what happened, and what the
// changed policy would have decided. In the second one every recorded request is
// decided anew; an outcome is folded where the record knows it (the request was
// sent to that account), and is unknown where it does not: nothing is guessed.
// One pass in position order; memory grows with the requests in flight only.
package whatif

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/listed"
	"github.com/waybill/waybill/projections/requests"
)

// Options say what is replayed.
type Options struct {
	Change       func(*events.Policy) // applied to every recorded policy; nil changes nothing
	Since, Until events.Time          // requests that began in [Since, Until); zero: no bound
	Examples     int                  // how many telling requests are kept; 0 is 10
}

// Replay is a counterfactual under way. Apply every event from position 1 on.
type Replay struct {
	o        Options
	recorded *world
	proposed *world
	now      events.Time
	at       events.Position
	begun    bool
	past     bool               // Until lies behind
	before   map[uuid.UUID]bool // requests that began before the replay did
	open     map[uuid.UUID]*request
	waiting  []*request
	lists    *listed.Book
	out      tally
}

// New starts a replay.
func New(o Options) *Replay {
	if o.Examples == 0 {
		o.Examples = 10
	}
	if o.Change == nil {
		o.Change = func(*events.Policy) {}
	}
	return &Replay{o: o, recorded: newWorld(), proposed: newWorld(), open: map[uuid.UUID]*request{}, before: map[uuid.UUID]bool{}, lists: listed.New(1024)}
}

// Apply takes the next event.
func (r *Replay) Apply(e *events.Event) {
	if r.past && len(r.open) == 0 {
		return
	}
	r.at, r.now = e.Position, max(r.now, e.ObservedAt)
	if !r.begun && r.now >= r.o.Since {
		r.begin()
	}
	if r.o.Until != 0 && r.now >= r.o.Until {
		r.past = true
	}
	r.recorded.pass(r.now)
	r.proposed.pass(r.now)
	r.wake()
	r.recorded.fold(e, r.now)
	r.propose(e)
}

// begin changes the policy in force: up to here both worlds are one.
func (r *Replay) begin() {
	r.begun = true
	if doc, _ := r.proposed.view.Admission.Document(); r.at > 1 {
		r.adopt(&events.Event{Header: events.Header{ObservedAt: r.now}, Position: r.at - 1}, doc)
	}
}

// adopt folds a routing document with the change applied.
func (r *Replay) adopt(e *events.Event, doc *events.Document) {
	changed := *doc
	r.o.Change(&changed.Policy)
	adopted := *e
	adopted.Data = &events.PolicyAdopted{Digest: changed.Digest(), Document: changed}
	r.proposed.fold(&adopted, r.now)
}

// propose folds an event into the proposed world, or what it becomes there.
func (r *Replay) propose(e *events.Event) {
	if p, ok := e.Data.(*events.CandidatesListed); ok {
		r.lists.Add(e, p.Verdicts)
	}
	if !r.begun || r.before[e.Request] {
		r.asRecorded(e)
		return
	}
	switch p := e.Data.(type) {
	case *events.PolicyAdopted:
		r.adopt(e, &p.Document)
	case *events.AttemptRouted:
		r.routed(e, p)
	case *events.RequestRefused:
		r.refused(e, p)
	case *events.AttemptSucceeded:
		r.outcome(e)
	case *events.RequestEnded:
		r.over(e, p)
	case *events.PinSet, *events.PinMoved, *events.TrialClaimed, *events.TrialPassed, *events.TrialClosed, *events.CandidatesListed:
		// These followed from the recorded decisions; ours make their own.
	default:
		if _, failed := events.FailureOf(e.Data); failed {
			r.outcome(e)
			return
		}
		r.proposed.fold(e, r.now)
	}
}

// asRecorded folds what happened before the replay began, and what came of it.
func (r *Replay) asRecorded(e *events.Event) {
	r.proposed.fold(e, r.now)
	switch e.Data.(type) {
	case *events.AttemptRouted:
		r.before[e.Request] = true
	case *events.AttemptSucceeded, *events.RequestEnded:
		delete(r.before, e.Request)
	default:
		if f, ok := events.FailureOf(e.Data); ok && !f.Followed.GoesOn() {
			delete(r.before, e.Request)
		}
	}
}

func (r *Replay) routed(e *events.Event, p *events.AttemptRouted) {
	q := r.find(e, &p.Stamp)
	if q == nil {
		return
	}
	q.tried = append(q.tried, p.Chosen)
	r.recordedSkips(e, p.Skipped, p.Listed, p.Chosen)
	r.out.account(p.Chosen).recorded.Attempts++
	if p.Trial != nil {
		r.out.account(p.Chosen).trials.Recorded++
	}
	if len(q.tried) == 1 {
		r.decide(q, p.Stamp.DecidedAt)
	}
}

func (r *Replay) refused(e *events.Event, p *events.RequestRefused) {
	q := r.find(e, &p.Stamp)
	if q == nil {
		return
	}
	r.recordedSkips(e, p.Verdicts, p.Listed, 0)
	q.recordEnd(requests.Refused, 0, p.Code)
	if q.attempt == 1 && !q.waiting && q.awaits == 0 && !q.ended {
		r.decide(q, p.Stamp.DecidedAt)
	}
	r.settle(q)
}

// recordedSkips counts whom a recorded decision kept out.
func (r *Replay) recordedSkips(e *events.Event, list []events.Verdict, ref events.Ref, chosen uint32) {
	list = r.lists.Whole(e, list, ref)
	for i := range list {
		if list[i].Reason.Skips() && list[i].Account != chosen {
			r.out.account(list[i].Account).recorded.Skipped++
		}
	}
}

// find is the request of a recorded decision, a new one for its first; nil when
// it lies outside of the time asked for.
func (r *Replay) find(e *events.Event, s *events.Stamp) *request {
	if q := r.open[e.Request]; q != nil {
		return q
	}
	switch {
	case r.past:
		return nil
	case s.DecidedAt < r.o.Since:
		r.asRecorded(e)
		return nil
	}
	q := &request{id: e.Request, first: *s, started: s.DecidedAt, attempt: 1, waited: s.Waited}
	r.open[e.Request] = q
	r.out.requests++
	return q
}

// outcome takes what a recorded attempt came to.
func (r *Replay) outcome(e *events.Event) {
	q := r.open[e.Request]
	if q == nil {
		return // of a request that is not replayed, or that has its outcome
	}
	no := r.recorded.number(e.Account)
	known := outcome{account: no, event: *e}
	q.known = append(q.known, known)
	if q.awaits == no {
		r.resolve(q, &known)
	}
	if _, ok := e.Data.(*events.AttemptSucceeded); ok {
		r.out.account(no).recorded.Served++
		q.recordEnd(requests.Served, no, "")
	} else if f, _ := events.FailureOf(e.Data); !f.Followed.GoesOn() {
		q.recordEnd(endOf(f), no, codeOf(f))
	}
	r.settle(q)
}

// over takes the recorded end of a search that found nobody.
func (r *Replay) over(e *events.Event, p *events.RequestEnded) {
	q := r.open[e.Request]
	if q == nil {
		return
	}
	last := uint32(0)
	if n := len(q.tried); n > 0 {
		last = q.tried[n-1]
	}
	code, o := p.Reply.Code, requests.Failed
	if code == "" {
		code = p.Class.String()
	}
	if p.Class == events.ClassClientAborted {
		o = requests.Aborted
	}
	q.recordEnd(o, last, code)
	r.settle(q)
}

func endOf(f *events.Failure) requests.Outcome {
	if f.Class == events.ClassClientAborted {
		return requests.Aborted
	}
	return requests.Failed
}

func codeOf(f *events.Failure) string {
	if f.Reply != nil && f.Reply.Code != "" {
		return f.Reply.Code
	}
	return f.Class.String()
}

// settle ends a request whose record has ended: what it still awaits is not in
// the record.
func (r *Replay) settle(q *request) {
	if !q.recordEnded {
		return
	}
	if q.awaits != 0 {
		r.unknown(q)
	}
	if q.ended {
		r.out.finish(q, r.o.Examples)
		delete(r.open, q.id)
	}
}

// wake decides again for those that wait: what they wait for may have come, or
// their time may be over.
func (r *Replay) wake() {
	list := r.waiting
	r.waiting = nil
	for _, q := range list {
		at := min(r.now, q.waitUntil)
		q.waiting = false
		q.waited += at.Sub(q.waitFrom)
		r.decide(q, at)
		r.settle(q)
	}
}

// Finish ends the replay and sums it up. What the record left open counts as
// such.
func (r *Replay) Finish() Result {
	for _, q := range sorted(r.open) {
		if !q.ended { // sent where the record sent it, too: both are open
			q.outcome, q.unknown = requests.Open, q.awaits != 0 && !slices.Contains(q.tried, q.awaits)
		}
		r.out.finish(q, r.o.Examples)
	}
	r.recorded.pass(r.now)
	r.proposed.pass(r.now)
	return r.out.result(r)
}
