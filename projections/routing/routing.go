// Package routing makes the decision: which account serves this attempt, as a
// trial or not, or why nobody does. Decide is pure, and everything that it
// depends on is in the view or in the stamp, so that any stored decision can be
// derived again. It asks package admission and nobody else whether an account
// may serve.
//
// The order of a choice is: hard tie; due trial, at most one per request; the
// session's pin; admitted by tier and strategy; last path; a wait for a trial
// in flight; refusal.
//
// # Claims
//
// A trial of a window, credit, payment or auth park is claimed through the
// ledger before it is dispatched. Decide answers Claim with the cells; the
// caller appends its own pending events and trial.claimed in one batch, folds
// to the claim's position and calls Decide again with a stamp of that point
// (the same request and attempt, Claimed naming the account). If the fold granted the slot and the path is
// still due, the answer is Dispatch with that Trial; anything else means that
// the claim is void or no longer wanted: the caller follows the new decision
// and, where the slot was granted, closes it as not dispatched. A replay needs
// nothing else: the claim is in the view.
package routing

import (
	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/pins"
)

// Rules is the version of Decide that this binary carries. It changes whenever
// the same view and stamp may give another decision.
const Rules = 1

// View is what decisions are made on. Cache may be nil: everything is then
// judged anew, with the same result.
type View struct {
	Admission *admission.View
	Pins      *pins.View
	Cache     *Cache
}

// Action says what the caller must do with a decision.
type Action uint8

const (
	// Refuse: no candidate. With no attempt made before, the refusal is the
	// answer; else the last answer is, see Advise.
	Refuse Action = iota
	// Dispatch to Account; the attempt.routed event is the claim of a trial
	// that needs no durable one.
	Dispatch
	// Claim: append trial.claimed durably, fold to it, and decide again there.
	Claim
	// WaitTrial: the only candidate is in trial; wait for its slot to end, at
	// most until WaitUntil, then decide again with Waited increased.
	WaitTrial
	// WaitPin: the pinned account is saturated; likewise.
	WaitPin
)

// String names the action, for transcripts and logs.
func (a Action) String() string {
	return [...]string{"refuse", "dispatch", "claim", "wait_trial", "wait_pin"}[a]
}

// Candidate is one account looked at, in the order of the walk.
type Candidate struct {
	// Verdict is Admit's, shared and never to be changed.
	Verdict *admission.Verdict
	Model   string // as it would be sent there
	Weight  int64  // in placement, 0 where nothing was weighed
	Account uint32
	Tier    uint16
	// Reason is the verdict's, or why an admitted one cannot serve this
	// request: saturated, already_tried, not_configured. ReasonNone: it could have served.
	Reason events.Reason
}

// Decision is Decide's answer.
type Decision struct {
	Action    Action
	Account   uint32
	Model     string // as sent
	Strategy  events.Strategy
	Weight    int64
	Trial     *events.Trial // of a Claim, or of a Dispatch that is a trial
	LastPath  bool
	Unclaimed bool // a last path while the ledger cannot be reached
	Pinned    bool
	WaitUntil events.Time
	// Candidates are those of the tiers looked at, the chosen one included.
	// With a Cache they are its memory: valid until its next decision.
	Candidates []Candidate
	// Spare says that another attempt of this request might find somebody.
	Spare   bool
	Refusal Refusal // when Action is Refuse
	Route   events.Digest
	Pin     Tie
}

// Decide chooses. The stamp holds every input that is not in the view: the
// caller fills it (but Policy, Rules and Loads), Decide completes it. inFlight
// tells an account's requests in flight and is asked only where the answer
// matters; what it told, zeros apart, becomes the stamp's Loads. A replay
// passes nil and Loads answers.
func Decide(v View, request uuid.UUID, attempt uint32, s *events.Stamp, inFlight func(account uint32) int64) Decision {
	s.Rules = Rules
	var doc *events.Document
	doc, s.Policy = v.Admission.Document()
	r := v.route(s.Dialect, s.Asked)
	d := walk{view: v, route: r, request: request, attempt: attempt, stamp: s, policy: &doc.Policy, now: s.DecidedAt, inFlight: inFlight, held: none, own: none, extra: none}
	if inFlight != nil {
		s.Loads = nil
	}
	d.marked = len(s.Tried)+len(s.Avoid)+len(s.Absent) > 0 || s.Claimed != 0
	d.out.Route, d.out.Strategy = r.digest, r.strategy
	if s.Tie != 0 {
		d.narrow()
	}
	d.borrow()
	if s.Tie != 0 {
		d.tied()
	} else {
		d.choose()
	}
	return d.out
}
