// Package routing makes the decision: which account serves this attempt, as a
// trial or not, or why nobody does. Decide is pure, and everything that it
// depends on is in the view or in the stamp, so that any stored decision can be
// derived again. It asks admission.Admit and nobody else whether an account
// may serve.
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

// View is what decisions are made on.
type View struct {
	Admission *admission.View
	Pins      *pins.View
}

// Action says what the caller must do with a decision.
type Action uint8

const (
	// Refuse: no candidate. With no attempt answered before, the refusal is the
	// answer; else the last answer is, with the refusal's Retry-After (R17).
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

// Candidate is one account looked at, with the verdict at its place in the walk.
type Candidate struct {
	Account uint32
	Model   string // as it would be sent there
	Tier    int
	Verdict admission.Verdict // Reason includes saturated and already_tried
	Weight  int64
}

// Refusal is what Waybill answers by itself (R17).
type Refusal struct {
	Code        string // accounts_exhausted, accounts_unavailable, model_not_found, saturated
	Status      int
	RetryAfter  int64 // seconds, 0: header absent
	RetrySource string
	Earliest    events.Time
	Message     string // for people, without the closing "request <id>: ..." line
}

// Decision is Decide's answer.
type Decision struct {
	Action     Action
	Account    uint32
	Model      string // as sent
	Strategy   events.Strategy
	Weight     int64
	Trial      *events.Trial // of a Claim, or of a Dispatch that claims by itself
	LastPath   bool
	Pinned     bool
	WaitUntil  events.Time
	Candidates []Candidate // every candidate of the tiers looked at, chosen one included
	Refusal    Refusal     // when Action is Refuse
	Route      events.Digest
}

// Decide chooses. The stamp holds every input that is not in the view: the
// caller fills it (but Policy, Rules and Loads), Decide completes it. inFlight
// tells an account's requests in flight and is asked only where the answer
// matters; what it told is added to the stamp's Loads. A replay passes nil and
// Loads answers. A decision that claimed a trial is replayed with granted set.
func Decide(v View, request uuid.UUID, attempt uint32, s *events.Stamp, inFlight func(account uint32) int64) Decision {
	s.Rules = Rules
	_, s.Policy = v.Admission.Document()
	for _, a := range v.Admission.Roster() {
		if !a.Retired {
			return Decision{Action: Dispatch, Account: a.No, Model: s.Asked}
		}
	}
	return Decision{Refusal: Refusal{Code: "model_not_found", Status: 404}}
}

// Routed is the event of a decision to dispatch, without a reference to
// candidates.listed: the caller stores lists of more than 16.
func (d *Decision) Routed(s *events.Stamp) *events.AttemptRouted {
	return &events.AttemptRouted{Stamp: *s, Chosen: d.Account, Strategy: d.Strategy, Weight: d.Weight, Trial: d.Trial, LastPath: d.LastPath, Pinned: d.Pinned}
}

// Refused is the event of a refusal.
func (d *Decision) Refused(s *events.Stamp) *events.RequestRefused {
	return &events.RequestRefused{Stamp: *s, Code: d.Refusal.Code, Status: uint32(d.Refusal.Status)}
}

// AfterSuccess is the pin event that a success of this decision calls for, nil
// when none.
func AfterSuccess(v View, s *events.Stamp, d *Decision) events.Payload { return nil }
