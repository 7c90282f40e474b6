package engine

import (
	"context"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/routing"
)

// Attempt is a recorded decision to dispatch. Exactly one of Succeeded and
// Failed must be called; both release the account's in-flight count and record
// behind the reply. A second call is a bug and panics in tests.
type Attempt struct {
	Account  *admission.Account
	Model    string // as sent
	Decision routing.Decision
	Stamp    events.Stamp
	Policy   *events.Policy

	engine *Engine
	header events.Header
	commit commit
	passed bool
	ended  bool
}

// Durable waits until the decision may be answered: the output commit. With
// relaxed durability it returns at once. ErrLedger: it cannot be recorded.
func (a *Attempt) Durable(ctx context.Context) error { return a.commit.wait(ctx) }

// Passed records that the first meaningful frame came: it ends the slot of a
// trial (R4). A no-op when the attempt is no trial.
func (a *Attempt) Passed(at events.Time) {
	if a.Decision.Trial == nil {
		return
	}
	e := a.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if a.passed || a.ended {
		return
	}
	a.passed = true
	p := &events.TrialPassed{Cells: a.Decision.Trial.Cells, DispatchedAt: a.Stamp.DecidedAt, AnsweredAt: clamp(at, e.nowFunc())}
	e.behind(events.Draft{Header: a.header, Data: p})
}

// Succeeded records a protocol-level terminal success, and the pin it calls for.
func (a *Attempt) Succeeded(answer events.Answer, terminal string) {
	e := a.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if !a.end() {
		return
	}
	clampAnswer(&answer, e.nowFunc())
	drafts := []events.Draft{{Header: a.header, Data: &events.AttemptSucceeded{
		Answer: answer, Terminal: terminal, Knew: a.Stamp.View, KnewOwn: a.Stamp.Pending,
	}}}
	if pin := routing.AfterSuccess(e.view, &a.Stamp, &a.Decision); pin != nil {
		drafts = append(drafts, events.Draft{Header: a.header, Data: pin})
	}
	e.behind(drafts...)
}

// Failed records any other outcome. The engine fills Step and Passed; a
// returned answer's Reply holds what is left of the candidates (R17), which
// the engine stores once where there are more than 16.
func (a *Attempt) Failed(f events.Failure) {
	e := a.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if !a.end() {
		return
	}
	a.complete(&f)
	var drafts []events.Draft
	if f.Reply != nil {
		var reply events.Reply
		drafts, reply = e.short(drafts, Ask{Request: a.header.Request, Attempt: a.header.Attempt}, *f.Reply)
		f.Reply = &reply
	}
	e.behind(append(drafts, events.Draft{Header: a.header, Data: events.FailureEvent(f)})...)
}

// complete fills in what the engine knows of a failure.
func (a *Attempt) complete(f *events.Failure) {
	clampAnswer(&f.Answer, a.engine.nowFunc())
	f.Passed = a.passed
	if a.Decision.Trial != nil {
		f.Step = a.Decision.Trial.Step
	}
}

// end releases the in-flight count, once. e.mu is held.
func (a *Attempt) end() bool {
	if a.ended {
		a.engine.misuse("an attempt ended twice", "request", a.header.Request, "attempt", a.header.Attempt)
		return false
	}
	a.ended = true
	a.engine.inFlight[a.Account.No-1]--
	a.engine.wake()
	return true
}

// behind records outcomes: nobody waits for them, and they cost no client its
// answer. One that the ledger cannot take is closed as lost by the next start.
func (e *Engine) behind(drafts ...events.Draft) {
	if _, err := e.record(ledger.Behind, drafts...); err != nil {
		e.logger.Error("an outcome could not be recorded", "request", drafts[0].Request, "error", err)
	}
}

func (e *Engine) misuse(msg string, args ...any) {
	if e.strict {
		panic(msg)
	}
	e.logger.Error(msg, args...)
}

func clampAnswer(a *events.Answer, now events.Time) {
	a.DispatchedAt, a.AnsweredAt = clampPresent(a.DispatchedAt, now), clamp(a.AnsweredAt, now)
}
