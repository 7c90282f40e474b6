// Package admission folds events into the view that says which account may
// serve, and holds Admit, the only judge. The rules are numbered R1 to R21 in
// docs/admission.md. It must not know how a choice among several is made
// (package routing), and never sees a request's words, a clock or a ledger.
package admission

import (
	"strconv"

	"github.com/waybill/waybill/events"
)

// Account is one row of the roster as of the view.
type Account struct {
	No       uint32 // roster number, from 1, permanent
	ID       string
	Epoch    events.Epoch
	Settings events.Settings
	Retired  bool
}

// NameOf is an account's id by its roster number, "account N" where the roster
// has none of that number.
func NameOf(roster []*Account, no uint32) string {
	if no == 0 || int(no) > len(roster) {
		return "account " + strconv.FormatUint(uint64(no), 10)
	}
	return roster[no-1].ID
}

// State is the contract's one-word summary of a path or an account.
type State uint8

// The states.
const (
	Available State = iota
	Parked
	HalfOpen
	WaitingReset
	Probing
	Cooling
	Drained
	Disabled
)

var stateNames = [...]string{"available", "parked", "half_open", "waiting_reset", "probing", "cooling", "drained", "disabled"}

func (s State) String() string { return stateNames[s] }

// Path is what is judged: an account and the model as it would be sent there.
// Model "" asks about the account itself (cells of endpoint, group, account).
type Path struct {
	Account uint32
	Model   string
}

// Verdict is Admit's answer. Admitted and Trial are never both true: a due
// path with a free slot serves only by claiming.
type Verdict struct {
	Admitted bool
	Trial    bool
	Reason   events.Reason
	Axis     events.Axis // of the strongest standing evidence
	State    State
	Soft     bool         // blocked only by claims or by health: the last path may try it (R16)
	OnClaims bool         // blocked only by claims (when_exhausted: refuse refuses these)
	Durable  bool         // a trial of these cells must be claimed through the ledger (R4)
	Evidence events.Ref   // deciding event
	Scope    events.Scope // of the strongest standing evidence
	Since    events.Time
	Until    events.Time // provider's own reset: maximum over the blocking cells; 0 unknown
	TrialAt  events.Time // ours: maximum over the blocking cells; 0 never by time
	SlotEnd  events.Time // a taken or resting slot ends here at the latest
	Step     uint32      // highest step standing in the blocking cells
	// Valid is the first instant at which this verdict may change without a
	// new event; 0 when time alone never changes it.
	Valid events.Time
}

// CellReport is one cell that has something to say, for people and for claims.
type CellReport struct {
	Cell     events.Cell
	State    string // clear, told, walled, due, trying, resting
	Reason   events.Reason
	Blocking bool
	Since    events.Time
	Until    events.Time
	Reset    events.Time // the latest that a provider has named, 0 where Until is our own wait
	TrialAt  events.Time
	SlotEnd  events.Time
	Step     uint32
	Evidence []events.Ref // deciding first
}

// WindowReport is a window as its newest reading has it, never our cap.
type WindowReport struct {
	events.Window
	ObservedAt events.Time
	Source     string
	Stale      bool
	Evidence   events.Ref
}

// Status is everything an account's row shows.
type Status struct {
	Account  Account
	Verdict  Verdict
	Cells    []CellReport
	Windows  []WindowReport
	Credit   *events.Credit // newest
	CreditAt events.Time
	Recovery string      // "paid" or "free" while a payment wall stands, else ""
	Override events.Time // healthy_until of the account scope, 0 when not armed
	Streak   events.Time // the account's clock (R2), 0 when no claim is exhausted
}
