// Package engine is the one place where decisions are made and recorded: it
// holds the live views under one short lock, gives every own event its
// sequence number, submits it to the ledger and folds it, all in one order. It
// knows no HTTP.
package engine

import (
	"context"
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/routing"
)

// ErrLedger: the decision cannot be recorded now (503 ledger_unavailable).
var ErrLedger = errors.New("decision cannot be recorded")

// Enrolment is one configured account, without its credential.
type Enrolment struct {
	ID       string
	Epoch    events.Epoch
	Settings events.Settings
}

// Options open an engine.
type Options struct {
	Log      *ledger.Log
	Accounts []Enrolment
	Document events.Document
	Relaxed  bool // durability: relaxed
	Version  string
	Config   events.Digest
	Now      func() events.Time // corrected wall clock; tests give their own
	Logger   *slog.Logger
}

// Engine decides and records. Safe for concurrent use.
type Engine struct{}

// Open folds the ledger from zero, closes what a crash left open (class
// lost), appends gateway.started, and enrols, changes and retires accounts and
// adopts the document where they differ from what the ledger holds.
func Open(ctx context.Context, o Options) (*Engine, error) { return &Engine{}, nil }

// Ask is one request's wish for an attempt.
type Ask struct {
	Request  uuid.UUID
	Attempt  uint32 // from 1
	Client   string
	Dialect  events.Dialect
	Model    string // as the client named it
	Session  events.Digest
	Tie      uint32
	Tried    []uint32 // accounts of earlier attempts, by roster number
	Last     bool     // max_attempts or max_elapsed allows no further one
	Answered bool     // an earlier attempt got an answer: a refusal is advice, not an event
}

// Attempt is a recorded decision to dispatch. Exactly one of Succeeded and
// Failed must be called; both release the account's in-flight count and record
// behind the reply. A second call is a bug and panics in tests.
type Attempt struct {
	Account  *admission.Account
	Model    string // as sent
	Decision routing.Decision
	Stamp    events.Stamp
	Policy   *events.Policy
}

// Decide blocks until there is an attempt or a refusal. It claims trials
// durably before it returns, and waits for a trial in flight (trial_wait). The
// context is the client's: when it ends, so does the wait.
func (e *Engine) Decide(ctx context.Context, ask Ask) (*Attempt, *Refusal, error) {
	return nil, nil, ErrLedger
}

// Refusal is a recorded refusal, or advice when Ask.Answered.
type Refusal struct {
	routing.Refusal
	Candidates []routing.Candidate
	Stamp      events.Stamp
}

// Durable waits until the refusal may be sent.
func (r *Refusal) Durable(ctx context.Context) error { return nil }

// Durable waits until the decision may be answered: the output commit. With
// relaxed durability it returns at once.
func (a *Attempt) Durable(ctx context.Context) error { return nil }

// Passed records that the first meaningful frame came: it ends the slot of a
// trial (R4). A no-op when the attempt is no trial.
func (a *Attempt) Passed(at events.Time) {}

// Succeeded records a protocol-level terminal success, and the pin it calls for.
func (a *Attempt) Succeeded(answer events.Answer, terminal string) {}

// Failed records any other outcome. The engine fills Step and Passed. left is
// what a returned answer says of the candidates (R17), from Decide's refusal.
func (a *Attempt) Failed(f events.Failure) {}

// Append records events that are no decision (readings, operator actions) and
// returns when they are durable and folded.
func (e *Engine) Append(ctx context.Context, drafts ...events.Draft) ([]events.Event, error) {
	return nil, ErrLedger
}

// View runs fn on the live views under the engine's lock; fn must be short and
// must not keep what it is given.
func (e *Engine) View(fn func(v routing.View, at events.Position, now events.Time)) {}

// InFlight is an account's requests in flight.
func (e *Engine) InFlight(account uint32) int64 { return 0 }

// Close stops following and waits for what was submitted.
func (e *Engine) Close(ctx context.Context) error { return nil }
