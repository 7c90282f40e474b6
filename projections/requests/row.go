package requests

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// Outcome is how a request ended for its client.
type Outcome uint8

const (
	// Open: not answered yet, or its process died and nobody has closed it.
	Open Outcome = iota
	// Served: an upstream's terminal success reached the client.
	Served
	// Failed: the client got an upstream's failure, its replacement, or a
	// broken stream.
	Failed
	// Refused: Waybill answered by itself, no attempt got an answer.
	Refused
	// Aborted: the client left first.
	Aborted
)

var outcomeNames = [...]string{"open", "served", "failed", "refused", "aborted"}

// String is the contract's word.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// Outcomes are the contract's words, those that people look for first.
func Outcomes() []string { return []string{"refused", "failed", "aborted", "open", "served"} }

// ParseOutcome reads the contract's word.
func ParseOutcome(s string) (Outcome, bool) {
	i := slices.Index(outcomeNames[:], s)
	return Outcome(max(i, 0)), i >= 0
}

// Row is one request. Accounts are roster numbers; View.Name gives their ids.
type Row struct {
	ID        uuid.UUID
	Writer    uuid.UUID   // the process that took it
	Started   events.Time // of its first decision
	Ended     events.Time // of its last outcome; 0 while open
	Client    string
	Dialect   events.Dialect
	Asked     string // the model as the client named it
	Session   events.Digest
	Outcome   Outcome
	Status    uint32       // that the client got; 0 when it got none
	Code      string       // refusal code, also of a replaced answer
	Class     events.Class // of the last attempt that was answered
	Tried     []uint32     // one per attempt, in order
	Served    uint32       // 0 when none did
	Skipped   []uint32     // kept out by some verdict, each once
	First     events.Position
	Last      events.Position
	Decisions []events.Position // attempt.routed and request.refused

	open *OpenAttempt
	idle events.Time // since when it stands between two attempts, 0 when it does not
}

// RowKey tells rows apart: a request that comes back after its row was dropped
// has another one.
type RowKey struct {
	First events.Position
	ID    uuid.UUID
}

// Key is the row's.
func (r *Row) Key() RowKey { return RowKey{r.First, r.ID} }

// Attempts counts dispatches.
func (r *Row) Attempts() int { return len(r.Tried) }

// OpenAttempt is a dispatch that has no outcome yet.
type OpenAttempt struct {
	events.Header // of its attempt.routed
	Position      events.Position
	DecidedAt     events.Time
	Chosen        uint32
	Trial         *events.Trial
}

// Clone copies what a caller may keep.
func (r *Row) Clone() Row {
	c := *r
	c.Tried = slices.Clone(r.Tried)
	c.Skipped = slices.Clone(r.Skipped)
	c.Decisions = slices.Clone(r.Decisions)
	c.open, c.idle = nil, 0
	return c
}

// reset empties a row for its next use and keeps its slices.
func (r *Row) reset() {
	*r = Row{Tried: r.Tried[:0], Skipped: r.Skipped[:0], Decisions: r.Decisions[:0]}
}
