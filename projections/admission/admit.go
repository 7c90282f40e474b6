package admission

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// gate is the memo of one path's verdict. It is good while nothing was folded
// that may change it, for the same policy, and until it may change by itself.
type gate struct {
	model   string
	gen     uint64
	policy  *events.Policy
	from    events.Time
	before  events.Time
	verdict Verdict
}

func (g *gate) good(gen uint64, policy *events.Policy, now events.Time) bool {
	return g.gen == gen && g.policy == policy && now >= g.from && now < g.before
}

// maxGates bounds the models remembered per account beside the first one.
const maxGates = 7

// Admit judges a path at an instant. It changes nothing that a later answer
// depends on (I13). The policy must not be changed in place.
func Admit(v *View, p Path, policy *events.Policy, now events.Time) Verdict {
	a := v.row(p.Account)
	if a == nil {
		return Verdict{Reason: events.ReasonDrained, State: Disabled}
	}
	g, gen := &a.gate, a.generation()
	if g.model != p.Model {
		g = a.otherGate(p.Model)
	}
	if !g.good(gen, policy, now) {
		g.fill(v, a, gen, policy, now)
	}
	return g.verdict
}

// otherGate is the memo of a model that is not the first one asked for.
func (a *account) otherGate(model string) *gate {
	if a.gate.policy == nil {
		a.gate.model = strings.Clone(model)
		return &a.gate
	}
	for i := range a.gates {
		if a.gates[i].model == model {
			return &a.gates[i]
		}
	}
	if len(a.gates) < maxGates {
		a.gates = append(a.gates, gate{model: strings.Clone(model)})
		return &a.gates[len(a.gates)-1]
	}
	g := &a.gates[a.next%maxGates]
	a.next++
	*g = gate{model: strings.Clone(model)}
	return g
}

func (g *gate) fill(v *View, a *account, gen uint64, policy *events.Policy, now events.Time) {
	g.gen, g.policy, g.from, g.before = gen, policy, now, endOfTime
	if a.Retired {
		g.verdict = a.gone()
		return
	}
	v.judge.begin(v, a, g.model, policy, now)
	v.judge.run()
	g.verdict = v.judge.verdict()
	if g.verdict.Valid != 0 {
		g.before = g.verdict.Valid
	}
}

const endOfTime = events.Time(1<<63 - 1)

// gone is the verdict of an account that the configuration no longer has.
func (a *account) gone() Verdict {
	return Verdict{Reason: events.ReasonDrained, Axis: events.AxisOperator, Scope: events.Scope{Kind: events.ScopeAccount},
		State: Drained, Evidence: a.retired}
}

// AdmitHolder judges a path for the attempt that holds its slot: as Admit
// would if the slot were free. The trial is the one that was granted to the
// attempt, nil when it holds none (then the verdict is Admit's).
func AdmitHolder(v *View, p Path, request [16]byte, attempt uint32, policy *events.Policy, now events.Time) (*events.Trial, Verdict) {
	a := v.row(p.Account)
	if a == nil || a.Retired {
		return nil, Admit(v, p, policy, now)
	}
	t := a.granted(request, attempt, now)
	if t == nil {
		return nil, Admit(v, p, policy, now)
	}
	v.judge.begin(v, a, p.Model, policy, now)
	v.judge.holder = &holder{request: request, attempt: attempt}
	v.judge.run()
	d := v.judge.verdict()
	v.judge.holder = nil
	return t, d
}

// Granted says whether the view holds a granted, unended trial claimed by this
// attempt.
func (v *View) Granted(account uint32, request [16]byte, attempt uint32, now events.Time) bool {
	a := v.row(account)
	return a != nil && a.granted(request, attempt, now) != nil
}

// granted is the trial that the attempt holds by a committed claim.
func (a *account) granted(request uuid.UUID, attempt uint32, now events.Time) *events.Trial {
	var t *events.Trial
	for _, o := range [...]*owner{a.endpoint, a.group, &a.shelves[0].owner} {
		if o == nil || o.top().open == 0 {
			continue
		}
		for _, p := range o.top().places {
			for i := range p.slots {
				s := &p.slots[i]
				if s.of(request, attempt) && s.held(now) && s.ref > 0 {
					t = s.join(t, p.key)
				}
			}
		}
	}
	if t != nil {
		slices.SortFunc(t.Cells, compareCells)
	}
	return t
}

func (s *slot) join(t *events.Trial, k key) *events.Trial {
	if t == nil {
		t = &events.Trial{Step: s.step, Lease: s.lease}
	}
	c := events.Cell{Axis: s.axis, Scope: k.scope()}
	if !slices.Contains(t.Cells, c) {
		t.Cells = append(t.Cells, c)
	}
	return t
}

func compareCells(a, b events.Cell) int {
	if a.Axis != b.Axis {
		return int(a.Axis) - int(b.Axis)
	}
	return key{a.Scope.Kind, a.Scope.Name}.compare(key{b.Scope.Kind, b.Scope.Name})
}

// Generation changes with every event, committed or pending, that may have
// changed a verdict or a room of one of the account's paths: its endpoint's
// and its group's events included. A verdict stands while the generation does
// and now is before its Valid.
func (v *View) Generation(account uint32) uint64 {
	if a := v.row(account); a != nil {
		return a.generation()
	}
	return 0
}

// RosterGeneration changes whenever the roster, an account's settings or the
// document change.
func (v *View) RosterGeneration() uint64 { return v.generation }
