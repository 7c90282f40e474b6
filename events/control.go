package events

// TrialClaimed asks for the slots of all cells that block the path of the
// envelope's account and model. The fold grants it at its position iff every
// slot is free then; else it is void (R4).
type TrialClaimed struct{ Trial Trial }

// Kind implements Payload.
func (*TrialClaimed) Kind() Kind { return KindTrialClaimed }

func (p *TrialClaimed) fields(c *coder) { inline(c, 1, "trial", &p.Trial) }

// TrialPassed says that the first meaningful frame of the trial's attempt came.
type TrialPassed struct {
	Cells        []Cell
	DispatchedAt Time
	AnsweredAt   Time // of the frame
}

// Kind implements Payload.
func (*TrialPassed) Kind() Kind { return KindTrialPassed }

func (p *TrialPassed) fields(c *coder) {
	repeated(c, 1, "cells", &p.Cells)
	c.time(2, "dispatched_at", &p.DispatchedAt)
	c.time(3, "answered_at", &p.AnsweredAt)
}

// TrialClosed says that the slot ended with no outcome that would end it by itself.
type TrialClosed struct {
	Cells []Cell
	End   TrialEnd
}

// Kind implements Payload.
func (*TrialClosed) Kind() Kind { return KindTrialClosed }

func (p *TrialClosed) fields(c *coder) {
	repeated(c, 1, "cells", &p.Cells)
	enum(c, 2, "end", &p.End, trialEndNames)
}

// PinSet ties a session to the envelope's account (R14).
type PinSet struct {
	Session Digest
	Route   Digest // of the set of accounts that the asked model resolves to
	Cause   string
}

// Kind implements Payload.
func (*PinSet) Kind() Kind { return KindPinSet }

func (p *PinSet) fields(c *coder) {
	c.digest(1, "session", &p.Session)
	c.digest(2, "route", &p.Route)
	c.word(3, "cause", &p.Cause)
}

// PinMoved ties a session to the envelope's account, away from another.
type PinMoved struct {
	Session Digest
	Route   Digest
	From    uint32 // roster number
	Cause   string // the reason why the former account did not serve
}

// Kind implements Payload.
func (*PinMoved) Kind() Kind { return KindPinMoved }

func (p *PinMoved) fields(c *coder) {
	c.digest(1, "session", &p.Session)
	c.digest(2, "route", &p.Route)
	c.uint32(3, "from", &p.From)
	c.word(4, "cause", &p.Cause)
}

// PinReleased ends a session's tie.
type PinReleased struct {
	Session Digest
	Route   Digest
	From    uint32
	Cause   string
}

// Kind implements Payload.
func (*PinReleased) Kind() Kind { return KindPinReleased }

func (p *PinReleased) fields(c *coder) {
	c.digest(1, "session", &p.Session)
	c.digest(2, "route", &p.Route)
	c.uint32(3, "from", &p.From)
	c.word(4, "cause", &p.Cause)
}

// OperatorAction is what every operator event holds (R18).
type OperatorAction struct {
	Actor  string
	Reason string
	Scope  Scope // unset counts as account
	Until  Time  // of a park
}

func (p *OperatorAction) fields(c *coder) {
	c.string(1, "actor", &p.Actor)
	c.string(2, "reason", &p.Reason)
	c.scope(3, "scope", &p.Scope)
	c.time(4, "until", &p.Until)
}

// OperatorReleased ends all facts and claims of the scope from before it, on
// every axis but operator, and arms the override there.
type OperatorReleased struct{ OperatorAction }

// Kind implements Payload.
func (*OperatorReleased) Kind() Kind { return KindOperatorReleased }

// OperatorParked sets the account aside until an instant.
type OperatorParked struct{ OperatorAction }

// Kind implements Payload.
func (*OperatorParked) Kind() Kind { return KindOperatorParked }

// OperatorDrained says no new placement and no trial; pinned sessions move.
type OperatorDrained struct{ OperatorAction }

// Kind implements Payload.
func (*OperatorDrained) Kind() Kind { return KindOperatorDrained }

// OperatorUndrained ends a drain and an operator's park.
type OperatorUndrained struct{ OperatorAction }

// Kind implements Payload.
func (*OperatorUndrained) Kind() Kind { return KindOperatorUndrained }
