package whatif

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/routing"
)

// request is one recorded request in both worlds.
type request struct {
	id      uuid.UUID
	first   events.Stamp // of its first recorded decision
	started events.Time

	// What happened.
	tried          []uint32
	known          []outcome
	recordEnded    bool
	recordOutcome  requests.Outcome
	recordedServed uint32
	recordedCode   string

	// What would have.
	attempt   uint32
	gone      []uint32 // accounts it was sent to
	tested    bool
	waiting   bool
	waitFrom  events.Time
	waitUntil events.Time
	waited    time.Duration
	awaits    uint32 // sent there, not answered
	stamp     events.Stamp
	decision  routing.Decision
	header    events.Header
	ended     bool
	outcome   requests.Outcome
	unknown   bool // sent to an account whose answer the record does not know
	served    uint32
	code      string
}

// outcome is what an account answered to this request, as recorded.
type outcome struct {
	account uint32
	event   events.Event
}

func (q *request) recordEnd(o requests.Outcome, no uint32, code string) {
	q.recordEnded, q.recordOutcome, q.recordedServed, q.recordedCode = true, o, no, code
}

func (q *request) end(o requests.Outcome, no uint32, code string) {
	q.ended, q.outcome, q.served, q.code = true, o, no, code
}

// maxRounds bounds the decisions that one instant may ask for.
const maxRounds = 8

// decide makes the request's next decision in the proposed world.
func (r *Replay) decide(q *request, now events.Time) {
	now = max(now, q.started)
	claimed := uint32(0)
	for range maxRounds {
		s, d := r.choose(q, claimed, now)
		switch d.Action {
		case routing.Claim:
			r.proposed.claim(q, &d, now, r.at)
			claimed = d.Account
			continue
		case routing.Dispatch:
			r.dispatch(q, s, d, now)
		case routing.WaitTrial, routing.WaitPin:
			q.waiting, q.waitFrom, q.waitUntil = true, now, max(d.WaitUntil, now.Add(time.Microsecond))
			r.waiting = append(r.waiting, q)
		default:
			r.nobody(q, &d)
		}
		return
	}
	q.end(requests.Open, 0, "")
	q.unknown = true
}

// nobody ends a request that no account may take: refused, or, where an attempt
// was made, with that attempt's answer. The second is no decision of its own.
func (r *Replay) nobody(q *request, d *routing.Decision) {
	if len(q.gone) == 0 {
		r.out.proposedSkips(d)
		q.end(requests.Refused, 0, d.Refusal.Code)
		return
	}
	q.end(requests.Failed, q.gone[len(q.gone)-1], q.code)
}

func (r *Replay) choose(q *request, claimed uint32, now events.Time) (events.Stamp, routing.Decision) {
	doc, _ := r.proposed.view.Admission.Document()
	s := q.first
	s.DecidedAt, s.View, s.Pending, s.Loads = now, r.at-1, r.proposed.seq, nil
	s.Tried, s.Tested, s.Waited, s.Claimed = slices.Clone(q.gone), q.tested, q.waited, claimed
	s.Last = routing.LastAttempt(q.attempt, &doc.Policy)
	d := routing.Decide(r.proposed.view, q.id, q.attempt, &s, r.proposed.load)
	return s, d
}

// dispatch sends the request to an account, and takes the answer at once where
// the record has it already; settle says what it means that it has none.
func (r *Replay) dispatch(q *request, s events.Stamp, d routing.Decision, now events.Time) {
	r.out.proposedSkips(&d)
	a := r.out.account(d.Account)
	a.proposed.Attempts++
	if d.Trial != nil {
		a.trials.Proposed++
	}
	q.header = r.proposed.header(q, d.Account, d.Model, now)
	r.proposed.make(q.header, r.at, d.Routed(&s), r.now)
	r.proposed.inFlight[d.Account]++
	d.Candidates = nil // the cache's memory
	q.awaits, q.stamp, q.decision = d.Account, s, d
	q.gone = append(q.gone, d.Account)
	q.tested = q.tested || d.Trial != nil
	for i := range q.known {
		if q.known[i].account == d.Account {
			r.resolve(q, &q.known[i])
			return
		}
	}
}

// resolve folds a known outcome and goes on as the gateway would.
func (r *Replay) resolve(q *request, k *outcome) {
	r.proposed.inFlight[q.awaits]--
	q.awaits = 0
	h := q.header
	h.ObservedAt = k.event.ObservedAt
	if ok, is := k.event.Data.(*events.AttemptSucceeded); is {
		done := *ok
		done.Knew, done.KnewOwn = q.stamp.View, q.stamp.Pending
		r.proposed.make(h, r.at, &done, r.now)
		if pin := routing.AfterSuccess(r.proposed.view, &q.stamp, &q.decision); pin != nil {
			r.proposed.make(h, r.at, pin, r.now)
		}
		r.out.account(k.account).proposed.Served++
		q.end(requests.Served, k.account, "")
		return
	}
	f, _ := events.FailureOf(k.event.Data)
	failed := *f
	failed.Step, failed.Passed, failed.Reply = 0, false, nil
	if t := q.decision.Trial; t != nil {
		failed.Step = t.Step
	}
	goesOn := r.goesOn(q, f)
	failed.Followed = events.FollowedReturned
	if goesOn {
		failed.Followed = events.FollowedFailover
	}
	r.proposed.make(h, r.at, events.FailureEvent(failed), r.now)
	if !goesOn {
		q.end(endOf(f), k.account, codeOf(f))
		return
	}
	q.attempt++
	q.code = codeOf(f)
	r.decide(q, max(r.now, k.event.ObservedAt))
}

// goesOn says whether another account may be tried after a recorded failure.
// Where the record went on, it may; where it ended, the class decides, unless
// the record shows that there were others and they were not asked (a row or a
// header ended it).
func (r *Replay) goesOn(q *request, f *events.Failure) bool {
	doc, _ := r.proposed.view.Admission.Document()
	if routing.LastAttempt(q.attempt, &doc.Policy) {
		return false
	}
	if f.Followed.GoesOn() {
		return true
	}
	if f.Committed || f.Reply == nil || slices.ContainsFunc(f.Reply.Left, func(v events.Verdict) bool { return v.Reason == events.ReasonNone }) {
		return false
	}
	w := routing.Walked{Attempts: []routing.Made{{Account: q.gone[len(q.gone)-1], Class: f.Class, Status: int(f.Answer.Status)}}}
	policy := doc.Policy
	policy.MaxAttempts, policy.MaxElapsed = 1<<20, 1<<62 // judged above, and not at all
	return routing.MayFailover(&w, &policy) == routing.GoesOn
}

// unknown ends a request that was sent where the record has no answer. A trial
// of it is given back: the next request asks the same question again, and its
// answer is as unknown.
func (r *Replay) unknown(q *request) {
	r.proposed.inFlight[q.awaits]--
	r.out.account(q.awaits).proposed.Unknown++
	if t := q.decision.Trial; t != nil {
		h := q.header
		h.ObservedAt = r.now
		r.proposed.make(h, r.at, &events.TrialClosed{Cells: t.Cells, End: events.TrialNotDispatched}, r.now)
	}
	q.served, q.awaits = q.awaits, 0
	q.ended, q.unknown, q.outcome = true, true, requests.Open
}
