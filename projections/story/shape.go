// Package story says in words what the ledger holds: what happened to a
// request, why an account was skipped, on which evidence, what would free it and
// when. The shell, the API and the console show its data and its sentences, so
// that all three say the same. It judges nothing: every verdict comes from
// admission and routing, on the view as of the decision.
package story

import (
	"strings"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/audit"
)

// Verdict is the contract's verdict of one path.
type Verdict struct {
	Admitted bool        `json:"admitted"`
	Trial    bool        `json:"trial"` // due: it serves only by claiming the slot
	State    string      `json:"state"`
	Axis     string      `json:"axis"`
	Scope    string      `json:"scope"`
	Reason   string      `json:"reason"`
	Cells    []Cell      `json:"cells"`
	Since    events.Time `json:"since"`
	Until    events.Time `json:"until"`    // the provider's own reset, else the end of our own wait
	Reset    events.Time `json:"reset"`    // the provider's own reset; null: it named none
	TrialAt  events.Time `json:"trial_at"` // when Waybill is willing to test
	SlotEnd  events.Time `json:"slot_end"` // of a trial in flight or at rest
	Step     uint32      `json:"step"`
	Evidence []Evidence  `json:"evidence"` // the deciding one first
	Sentence string      `json:"sentence"`
}

// Narrow are the single models and families that an account does not serve now
// though it may serve: its own state does not show them.
func (v *Verdict) Narrow() (out []Cell) {
	for i := range v.Cells {
		c := &v.Cells[i]
		if (strings.HasPrefix(c.Scope, "model:") || strings.HasPrefix(c.Scope, "family:")) && c.State != "clear" && !c.Blocking {
			out = append(out, *c)
		}
	}
	return out
}

// Cell is an axis and scope that has something to say.
type Cell struct {
	Axis     string            `json:"axis"`
	Scope    string            `json:"scope"`
	State    string            `json:"state"` // clear told walled due trying resting
	Reason   string            `json:"reason"`
	Blocking bool              `json:"blocking"`
	Since    events.Time       `json:"since"`
	Until    events.Time       `json:"until"`
	Reset    events.Time       `json:"reset"` // as of a verdict
	TrialAt  events.Time       `json:"trial_at"`
	SlotEnd  events.Time       `json:"slot_end"`
	Step     uint32            `json:"step"`
	Evidence []events.Position `json:"evidence"`
}

// Evidence is an event that a verdict rests on.
type Evidence struct {
	Position   events.Position `json:"position"`
	Type       string          `json:"type"`
	ObservedAt events.Time     `json:"observed_at"`
	Account    string          `json:"account"`
	Source     string          `json:"source"`
	Summary    string          `json:"summary"`
}

// Trial is a slot that a dispatch took.
type Trial struct {
	Cells []TrialCell `json:"cells"`
	Step  uint32      `json:"step"`
	Lease events.Time `json:"lease"`
}

// TrialCell is one cell of a trial.
type TrialCell struct {
	Axis  string `json:"axis"`
	Scope string `json:"scope"`
}

// Candidate is an account that a decision looked at.
type Candidate struct {
	Account string `json:"account"`
	Model   string `json:"model"` // as it would be sent there
	Tier    int    `json:"tier"`
	Chosen  bool   `json:"chosen"`
	Weight  int64  `json:"weight"`
	Verdict
}

// Decision is one decision of a request. Position and Pending say what its view
// held; Event is where the decision itself stands.
type Decision struct {
	Attempt    uint32             `json:"attempt"`
	Kind       string             `json:"kind"` // dispatch or refusal
	Event      events.Position    `json:"event"`
	DecidedAt  events.Time        `json:"decided_at"`
	Position   events.Position    `json:"position"`
	Pending    uint64             `json:"pending"`
	Policy     string             `json:"policy"`
	Rules      uint32             `json:"rules"`
	Session    string             `json:"session"`
	Strategy   string             `json:"strategy"`
	Chosen     string             `json:"chosen"`
	Model      string             `json:"model"`
	Trial      *Trial             `json:"trial"`
	LastPath   bool               `json:"last_path"`
	Unclaimed  bool               `json:"unclaimed"`
	Pinned     bool               `json:"pinned"`
	WaitedMS   int64              `json:"waited_ms"`
	Candidates []Candidate        `json:"candidates"`
	Replayed   bool               `json:"replayed"`
	Identical  bool               `json:"identical"`
	Differs    []audit.Difference `json:"differences"`
	Sentence   string             `json:"sentence"`
}

// Attempt is one dispatch and its outcome.
type Attempt struct {
	Attempt      uint32          `json:"attempt"`
	Account      string          `json:"account"`
	Model        string          `json:"model"`
	Event        events.Position `json:"event"` // of the outcome, 0 while there is none
	Status       uint32          `json:"status"`
	Class        string          `json:"class"`
	Rule         string          `json:"rule"`
	DispatchedAt events.Time     `json:"dispatched_at"`
	AnsweredAt   events.Time     `json:"answered_at"`
	DurationMS   int64           `json:"duration_ms"`
	FirstByteMS  int64           `json:"first_byte_ms"`
	Usage        *Usage          `json:"usage"`
	Billed       bool            `json:"possibly_billed"` // the upstream may charge for it, and nothing says how much
	Failover     bool            `json:"failover"`
	Hint         *Hint           `json:"hint"`
	BodyHead     string          `json:"body_head"`
	UpstreamID   string          `json:"upstream_id"`
	Terminal     string          `json:"terminal"`
	Sentence     string          `json:"sentence"`
}

// Hint is what an answer said about coming back.
type Hint struct {
	Value   string      `json:"value"`
	Until   events.Time `json:"until"`
	Source  string      `json:"source"`
	Guessed bool        `json:"guessed"`
}

// Usage is the contract's token usage; what the answer did not say is absent.
type Usage struct {
	Input       *int64 `json:"input_tokens,omitempty"`
	CachedInput *int64 `json:"cached_input_tokens,omitempty"`
	CacheWrite  *int64 `json:"cache_write_tokens,omitempty"`
	Output      *int64 `json:"output_tokens,omitempty"`
	Reasoning   *int64 `json:"reasoning_tokens,omitempty"`
	Partial     bool   `json:"partial"`
}

// Replay says whether deriving the decisions again agrees.
type Replay struct {
	// Identical is null where the binary carries the rules of none of them.
	Identical   *bool        `json:"identical"`
	Differences []Difference `json:"differences"`
	Skipped     []uint32     `json:"skipped_versions"`
	Sentence    string       `json:"sentence"`
}

// Difference is one field of the decision at a position.
type Difference struct {
	Event events.Position `json:"event"`
	audit.Difference
}

// Request is the whole story of a request.
type Request struct {
	Request    uuid.UUID   `json:"request"`
	Outcome    string      `json:"outcome"`
	Status     uint32      `json:"status"` // that the client got
	Code       string      `json:"code"`
	Client     string      `json:"client"`
	Dialect    string      `json:"dialect"`
	Model      string      `json:"model"` // as asked
	Session    string      `json:"session"`
	Started    events.Time `json:"started"`
	Ended      events.Time `json:"ended"`
	RetryAfter int64       `json:"retry_after"`
	RetryFrom  string      `json:"retry_source"`
	Earliest   events.Time `json:"earliest_reset"`
	Decisions  []Decision  `json:"decisions"`
	Attempts   []Attempt   `json:"attempts"`
	Replay     Replay      `json:"replay"`
	Sentences  []string    `json:"sentences"`
}
