package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/routing"
)

// maxRounds bounds the decisions of one Decide: each round follows a claim or
// a wait, and waits end by themselves.
const maxRounds = 64

// Ask is one request's wish for an attempt.
type Ask struct {
	Request  uuid.UUID
	Attempt  uint32 // from 1
	Client   string
	Dialect  events.Dialect
	Model    string // as the client named it
	Session  events.Digest
	Tie      uint32
	Tested   bool     // an earlier attempt of this request was a trial
	Avoid    []string // endpoints that an answer of this request ruled out for it
	Tried    []uint32 // accounts of earlier attempts, by roster number
	Answered bool     // an earlier attempt got an answer: a refusal is advice, not an event
}

// walk is one Decide under way.
type walk struct {
	ask    Ask
	waited time.Duration
	claim  *claim // submitted, and committed by the time of the next decision
}

// next is what a decision under the lock leaves to be done without it.
type next struct {
	attempt *Attempt
	refusal *Refusal
	claim   *claim
	change  <-chan struct{} // wait for it
	wait    time.Duration   // at most this long
}

// Decide blocks until there is an attempt or a refusal. It claims trials
// durably before it returns, and waits for a trial in flight (trial_wait). The
// context is the client's: when it ends, so does the wait.
func (e *Engine) Decide(ctx context.Context, ask Ask) (*Attempt, *Refusal, error) {
	w := &walk{ask: ask}
	for range maxRounds {
		n, err := e.decide(w)
		switch {
		case err != nil:
			return nil, nil, err
		case n.attempt != nil:
			return n.attempt, nil, nil
		case n.refusal != nil:
			return nil, n.refusal, nil
		case n.claim != nil:
			err = e.settleClaim(ctx, w, n.claim)
		default:
			err = e.pause(ctx, w, n)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("decide: no end after %d rounds", maxRounds)
}

// decide makes one decision and records it, all under the lock.
func (e *Engine) decide(w *walk) (next, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.nowFunc()
	if err := e.admits(); err != nil {
		return next{}, err
	}
	s, d := e.choose(w, now)
	if w.claim != nil {
		if w.claim.granted(e, now) && !w.claim.serves(&d) {
			if err := e.giveUp(w); err != nil {
				return next{}, err
			}
			s, d = e.choose(w, now)
		}
		w.claim = nil
	}
	switch d.Action {
	case routing.Dispatch:
		a, err := e.dispatch(w, s, &d)
		return next{attempt: a}, err
	case routing.Claim:
		c, err := e.submitClaim(w, &d)
		return next{claim: c}, err
	case routing.WaitTrial, routing.WaitPin:
		return next{change: e.change(), wait: d.WaitUntil.Sub(now)}, nil
	}
	r, err := e.refuse(w, s, &d)
	return next{refusal: r}, err
}

// choose asks routing on the views as they stand.
func (e *Engine) choose(w *walk, now events.Time) (events.Stamp, routing.Decision) {
	doc, _ := e.view.Admission.Document()
	s := events.Stamp{
		DecidedAt: now, View: e.live.Position(), Pending: e.live.Own(),
		Client: w.ask.Client, Dialect: w.ask.Dialect, Asked: w.ask.Model, Session: w.ask.Session,
		Tie: w.ask.Tie, Tried: w.ask.Tried, Cursor: e.cursors.get(w.ask.Model), Waited: w.waited, Last: routing.LastAttempt(w.ask.Attempt, &doc.Policy),
		Tested: w.ask.Tested, Avoid: w.ask.Avoid, Absent: e.here.absent(e.view.Admission),
	}
	if w.claim != nil {
		s.Claimed = w.claim.account
	}
	if e.outage != nil {
		s.Offline, s.Unclaimed = true, e.unclaimed
	}
	d := routing.Decide(e.view, w.ask.Request, w.ask.Attempt, &s, e.load)
	return s, d
}

// dispatch records a decision to dispatch.
func (e *Engine) dispatch(w *walk, s events.Stamp, d *routing.Decision) (*Attempt, error) {
	account := e.view.Admission.Roster()[d.Account-1]
	doc, _ := e.view.Admission.Document()
	kept := *d
	kept.Candidates = nil // the cache's memory
	if !d.Long() {
		kept.Candidates = slices.Clone(d.Candidates)
	}
	a := &Attempt{Account: account, Model: d.Model, Decision: kept, Stamp: s, Policy: &doc.Policy, engine: e}
	a.header = events.Header{Account: account.ID, Epoch: account.Epoch, Model: d.Model, Request: w.ask.Request, Attempt: w.ask.Attempt}
	routed := d.Routed(&a.Stamp)
	drafts := make([]events.Draft, 0, 2)
	if d.Long() {
		drafts, routed.Listed = e.list(drafts, w, d.Verdicts())
	}
	t, err := e.record(e.decisionUrgency(), append(drafts, events.Draft{Header: a.header, Data: routed})...)
	if err != nil {
		return nil, err
	}
	a.commit = e.commitOf(t)
	e.inFlight[d.Account-1]++
	if d.Unclaimed {
		e.unclaimed = s.DecidedAt
	}
	if d.Strategy == events.StrategyRoundRobin {
		e.cursors.advance(w.ask.Model)
	}
	return a, nil
}

// decisionUrgency: in strict durability somebody waits for every decision.
func (e *Engine) decisionUrgency() ledger.Urgency {
	if e.relaxed {
		return ledger.Behind
	}
	return ledger.Awaited
}

// list refers to an equal list of verdicts, or stores this one just before the
// event that refers to it.
func (e *Engine) list(drafts []events.Draft, w *walk, all []events.Verdict) ([]events.Draft, events.Ref) {
	ref, key := e.lists.find(all)
	if ref != 0 {
		return drafts, ref
	}
	seq := e.seq + uint64(len(drafts)) + 1
	e.lists.add(key, all, seq)
	return append(drafts, events.Draft{
		Header: events.Header{Request: w.ask.Request, Attempt: w.ask.Attempt},
		Data:   &events.CandidatesListed{Verdicts: all},
	}), -events.Ref(seq)
}

// pause waits for a trial or a connection to end.
func (e *Engine) pause(ctx context.Context, w *walk, n next) error {
	from := e.nowFunc()
	if err := await(ctx, n.change, n.wait); err != nil {
		return err
	}
	w.waited += max(e.nowFunc().Sub(from), time.Microsecond)
	return nil
}
