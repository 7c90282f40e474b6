package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
)

// Request is a client's request on its way through a gateway.
type Request struct {
	Name    string
	ID      uuid.UUID
	Gateway *Gateway
	Client  string
	Model   string
	Says    string // content that an upstream's script may react to
	Session events.Digest
	Tie     uint32
	Dialect events.Dialect

	began    events.Time
	attempt  uint32
	tried    []uint32
	avoid    []string
	tested   bool
	waited   time.Duration
	waitFrom events.Time // since when it waits, 0 when it does not
	waitTill events.Time
	walked   routing.Walked
	last     routing.Last

	open *attempt // dispatched and not answered
	Done bool
	// Status, Code and RetryAfter are what the client got; By is the account
	// that served it.
	Status     int
	Code       string
	RetryAfter int64
	By         string
	Message    string
}

type attempt struct {
	stamp    events.Stamp
	decision routing.Decision
	header   events.Header
	at       events.Time
	passed   bool
}

// Ask begins a request: it is dispatched, waits, or is refused.
func (w *World) Ask(r *Request) {
	r.ID, r.began = w.id(), w.Now
	if r.Gateway == nil {
		r.Gateway = w.Gateway()
	}
	if r.Dialect == events.DialectNone {
		r.Dialect = events.DialectOpenAI
	}
	r.next()
}

func (r *Request) next() {
	r.attempt++
	r.waited = 0
	r.decide()
}

// maxClaims bounds the claims of one attempt: at one instant a claim that was
// void or given back is not wanted again.
const maxClaims = 8

// decide goes through decisions until there is a dispatch, a wait or an end.
func (r *Request) decide() {
	g := r.Gateway
	g.follow()
	s, d := r.choose(0)
	for rounds := 0; d.Action == routing.Claim; rounds++ {
		if rounds > maxClaims {
			panic(fmt.Sprintf("%s claims %s for ever: %+v", r.Name, r.idOf(d.Account), *d.Trial))
		}
		s, d = r.claim(&d)
	}
	switch d.Action {
	case routing.Dispatch:
		r.dispatch(s, d)
	case routing.WaitPin, routing.WaitTrial:
		r.waitFrom, r.waitTill = g.world.Now, d.WaitUntil
		g.world.tracef("%s %s for %s until %s", r.Name, d.Action, r.idOf(d.Account), since(d.WaitUntil))
	default:
		r.refuse(s, &d)
	}
}

func (r *Request) choose(claimed uint32) (events.Stamp, routing.Decision) {
	g := r.Gateway
	s := events.Stamp{
		DecidedAt: g.world.Now, View: g.live.Position(), Pending: g.live.Own(), Client: r.Client, Dialect: r.Dialect, Asked: r.Model,
		Session: r.Session, Tie: r.Tie, Tried: slices.Clone(r.tried), Cursor: g.cursors[r.Model], Waited: r.waited,
		Last: int(r.attempt) >= int(g.world.Document.Policy.MaxAttempts), Tested: r.tested, Avoid: slices.Clone(r.avoid),
		Offline: g.Offline, Unclaimed: g.unclaimed, Claimed: claimed,
	}
	d := routing.Decide(g.view, r.ID, r.attempt, &s, func(a uint32) int64 { return g.inFlight[a] })
	if g.world.OnDecision != nil {
		g.world.OnDecision(r, s, &d)
	}
	return s, d
}

// claim appends own pending events and the claim, and decides again there. A
// slot that the new decision does not use is given back.
func (r *Request) claim(wanted *routing.Decision) (events.Stamp, routing.Decision) {
	g := r.Gateway
	h := r.header(wanted)
	g.submit(events.Draft{Header: h, Data: &events.TrialClaimed{Trial: *wanted.Trial}})
	g.Commit()
	s, d := r.choose(wanted.Account)
	if d.Action == routing.Dispatch && d.Account == wanted.Account && d.Trial != nil {
		return s, d
	}
	if g.view.Admission.Granted(wanted.Account, r.ID, r.attempt, g.world.Now) {
		g.world.tracef("%s claim of %s given back", r.Name, h.Account)
	} else {
		g.world.tracef("%s claim of %s is void", r.Name, h.Account)
	}
	g.submit(events.Draft{Header: h, Data: &events.TrialClosed{Cells: wanted.Trial.Cells, End: events.TrialNotDispatched}})
	g.Commit()
	return r.choose(0)
}

func (r *Request) header(d *routing.Decision) events.Header {
	a := r.Gateway.view.Admission.Roster()[d.Account-1]
	return events.Header{Account: a.ID, Epoch: a.Epoch, Model: d.Model, Request: r.ID, Attempt: r.attempt}
}

func (r *Request) dispatch(s events.Stamp, d routing.Decision) {
	g := r.Gateway
	h := r.header(&d)
	r.open = &attempt{stamp: s, decision: d, header: h, at: g.world.Now}
	g.inFlight[d.Account]++
	g.world.Hits[h.Account]++
	g.cursors[r.Model]++
	if d.Unclaimed {
		g.unclaimed = g.world.Now
	}
	r.tried = append(r.tried, d.Account)
	r.tested = r.tested || d.Trial != nil
	r.walked.Tied = r.Tie != 0
	routed := d.Routed(&r.open.stamp)
	var list []events.Draft
	if d.Long() {
		list = append(list, events.Draft{Header: events.Header{Request: r.ID, Attempt: r.attempt}, Data: &events.CandidatesListed{Verdicts: d.Verdicts()}})
		routed.Listed = -events.Ref(g.seq + 1)
	}
	g.submit(append(list, events.Draft{Header: h, Data: routed})...)
}

func (r *Request) refuse(s events.Stamp, d *routing.Decision) {
	r.Done = true
	if r.attempt > 1 {
		r.answered(&d.Refusal)
		return
	}
	f := &d.Refusal
	r.Status, r.Code, r.RetryAfter, r.Message = f.Status, f.Code, f.RetryAfter, f.Message
	refused := d.Refused(&s)
	if d.Long() {
		refused.Verdicts = d.Verdicts()
	}
	r.Gateway.submit(events.Draft{Header: events.Header{Request: r.ID, Attempt: r.attempt}, Data: refused})
	r.Gateway.world.tracef("%s refused %d %s%s: %s", r.Name, f.Status, f.Code, retry(f.RetryAfter, f.RetrySource), f.Message)
	for i := range d.Candidates {
		c := &d.Candidates[i]
		r.Gateway.world.tracef("    %s %s%s", r.idOf(c.Account), c.Reason, instants(c))
	}
}

func instants(c *routing.Candidate) string {
	if c.Verdict.Admitted {
		return ""
	}
	s := fmt.Sprintf(" (%s) until %s, trial at %s", c.Verdict.Scope, since(c.Verdict.Until), since(c.Verdict.TrialAt))
	if c.Verdict.SlotEnd != 0 {
		s += ", slot ends " + since(c.Verdict.SlotEnd)
	}
	return s
}

func retry(after int64, source string) string {
	if after == 0 {
		return ""
	}
	if source == "" {
		return fmt.Sprintf(", retry after %d s", after)
	}
	return fmt.Sprintf(", retry after %d s (%s)", after, source)
}

func (r *Request) idOf(account uint32) string {
	return r.Gateway.view.Admission.Roster()[account-1].ID
}

// wake lets requests that wait look again.
func (w *World) wake() {
	var waiting []*Request
	for _, r := range w.requests {
		if r.waitFrom != 0 {
			waiting = append(waiting, r)
		}
	}
	slices.SortFunc(waiting, func(a, b *Request) int { return int(a.began - b.began) })
	slices.SortStableFunc(waiting, func(a, b *Request) int { return slices.Compare(a.ID[:], b.ID[:]) })
	for _, r := range waiting {
		r.again()
	}
}

func (r *Request) again() {
	r.waited += r.Gateway.world.Now.Sub(r.waitFrom)
	r.waitFrom = 0
	r.decide()
}

func (r *Request) idIn(g *Gateway, account uint32) string {
	return g.view.Admission.Roster()[account-1].ID
}
