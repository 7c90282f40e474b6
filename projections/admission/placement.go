package admission

import "github.com/waybill/waybill/events"

// Room is one axis of quota that a path has, as its newest reading tells it:
// what placement weighs (R15). An override does not hide it (R6).
type Room struct {
	// Remaining is the percentage left, 0 to 100; 0 when a flag says that the
	// axis is spent, whatever its numbers say.
	Remaining  events.Decimal
	ResetsAt   events.Time // the axis' own reset, 0 unknown
	ObservedAt events.Time // newest confirmation
	Exhausted  bool        // as R1 or R10 judge it, the override apart
	InBand     bool        // the reading stood in an answer (R14: lets a pin move)
}

// AppendRooms appends the windows and credit budgets that gate the path. Those
// that say nothing about what is left, and those of scope none, are not there.
func (v *View) AppendRooms(dst []Room, p Path) []Room { return dst }

// Generation changes with every event, committed or pending, that may have
// changed a verdict or a room of one of the account's paths: its endpoint's
// and its group's events included. A verdict stands while the generation does
// and now is before its Valid.
func (v *View) Generation(account uint32) uint64 { return v.generation }

// RosterGeneration changes whenever the roster, an account's settings or the
// document change.
func (v *View) RosterGeneration() uint64 { return v.generation }

// AdmitHolder judges a path for the attempt that holds its slot: as Admit
// would if the slot were free. The trial is the one that was granted to the
// attempt, nil when it holds none (then the verdict is Admit's).
func AdmitHolder(v *View, p Path, request [16]byte, attempt uint32, policy *events.Policy, now events.Time) (*events.Trial, Verdict) {
	return nil, Admit(v, p, policy, now)
}
