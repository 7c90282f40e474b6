package admission

import "github.com/waybill/waybill/events"

// desk is what operators have done to a scope (R18). Actions are compared by
// their own time; of two at one instant the later in the ledger counts.
type desk struct {
	drained, undrained, parked stamp
	until                      events.Time // of the newest park, 0 without end
}

type stamp struct {
	at  events.Time
	ref events.Ref
}

func (s *stamp) put(n stamp) bool {
	if n.at < s.at {
		return false
	}
	*s = n
	return true
}

// after says that s happened after o; at one instant by place in the ledger.
func (s stamp) after(o stamp) bool {
	if s.at != o.at {
		return s.at > o.at
	}
	return s.at != 0 && later(s.ref, o.ref)
}

// later orders references: what is pending comes after what is committed.
func later(a, b events.Ref) bool {
	if a < 0 && b < 0 {
		return a < b
	}
	if a < 0 || b < 0 {
		return a < 0
	}
	return a > b
}

type deskAction uint8

const (
	deskParked deskAction = iota
	deskDrained
	deskUndrained
)

// operator folds a park, drain or undrain. They belong to the account and not
// to its credential; where the scope is wider, to the host or the group.
func (f *fold) operator(p *events.OperatorAction, action deskAction) {
	o, k := f.deskTarget(p.Scope)
	l := f.write(o)
	pl := l.change(f.a, k)
	if pl == nil {
		pl = l.change(f.a, o.wide())
	}
	n := stamp{at: f.e.ObservedAt, ref: f.ref}
	switch action {
	case deskParked:
		if pl.desk.parked.put(n) {
			pl.desk.until = p.Until
		}
	case deskDrained:
		pl.desk.drained.put(n)
	case deskUndrained:
		pl.desk.undrained.put(n)
	}
	*o.gen++
}

func (f *fold) deskTarget(scope events.Scope) (*owner, key) {
	o, k := f.a.target(f.a.shelves[0], events.AxisOperator, scope)
	if o == nil || o == &f.a.shelves[0].owner {
		if o == nil || k.kind == events.ScopeNone || k.wide() {
			k = f.a.desk.wide()
		}
		return &f.a.desk, k
	}
	return o, k
}

// released folds operator.released: all facts and claims of the scope from
// before it end, on every axis but operator, and the override is armed there.
// A wide scope includes the narrower ones of its owner; an account's includes
// what its group holds for it.
func (f *fold) released(p *events.OperatorAction) {
	scope := orElse(p.Scope, events.ScopeAccount, "")
	s := f.a.shelves[0]
	f.release(f.a.target(s, events.AxisHealth, scope))
	if o, k := f.a.target(s, events.AxisWindow, scope); o != &s.owner && scope.Kind != events.ScopeEndpoint && scope.Kind != events.ScopeGroup {
		f.release(o, k)
	}
}

func (f *fold) release(o *owner, k key) {
	if o == nil || k.kind == events.ScopeNone {
		return
	}
	l := f.write(o)
	pl := l.change(f.a, k)
	if pl == nil {
		return
	}
	pl.released = max(pl.released, f.e.ObservedAt)
	*o.gen++
}
