package admission

import (
	"github.com/waybill/waybill/events"
)

// fold is one event being folded into one layer.
type fold struct {
	v       *View
	e       *events.Event
	a       *account
	ref     events.Ref
	pending bool
}

// layerOf is the layer that is folded into, for reading.
func (f *fold) layerOf(o *owner) *layer {
	if f.pending {
		return o.top()
	}
	return o.base
}

// write is the layer that is folded into, for writing.
func (f *fold) write(o *owner) *layer {
	if !f.pending {
		return o.base
	}
	if o.over == nil {
		o.over = o.base.copy()
		f.v.touched = append(f.v.touched, o)
	}
	return o.over
}

// shelf is where the account's evidence of a credential belongs. A pending
// event of one that no committed event has named is not judged by yet, and must
// leave no trace.
func (f *fold) shelf(a *account, e events.Epoch) *shelf {
	if f.pending && !a.has(e) {
		return &shelf{owner: newOwner(events.ScopeAccount, &a.gen), epoch: e}
	}
	return a.shelf(e)
}

func (f *fold) event() {
	switch p := f.e.Data.(type) {
	case *events.QuotaFetched:
		f.reading(&p.Reading, f.e.ObservedAt, false)
	case *events.AttemptRouted:
		f.routed(p)
	case *events.AttemptSucceeded:
		f.succeeded(p)
	case *events.TrialClaimed:
		f.claimed(&p.Trial)
	case *events.TrialPassed:
		f.passed(p)
	case *events.TrialClosed:
		f.closed(p)
	case *events.OperatorReleased:
		f.released(&p.OperatorAction)
	case *events.OperatorParked:
		f.operator(&p.OperatorAction, deskParked)
	case *events.OperatorDrained:
		f.operator(&p.OperatorAction, deskDrained)
	case *events.OperatorUndrained:
		f.operator(&p.OperatorAction, deskUndrained)
	default:
		if failure, ok := events.FailureOf(f.e.Data); ok {
			f.failed(failure)
		}
	}
}

func (f *fold) witness(at events.Time) witness {
	return witness{at: at, ref: f.ref, writer: f.e.Writer, seq: f.e.WriterSeq}
}

func orTime(t, otherwise events.Time) events.Time {
	if t != 0 {
		return t
	}
	return otherwise
}

// exercised calls fn for every scope that a dispatch of a model exercises, in
// every owner that covers the account: never another family or model (R6).
func (f *fold) exercised(fn func(*owner, key)) {
	if f.a.endpoint != nil {
		fn(f.a.endpoint, f.a.endpoint.wide())
	}
	var m *model
	if f.e.Model != "" {
		m = f.a.model(f.e.Model)
	}
	own := &f.shelf(f.a, f.e.Epoch).owner
	f.exercise(own, m, fn)
	if f.a.group != nil {
		f.exercise(f.a.group, m, fn)
	}
}

func (f *fold) exercise(o *owner, m *model, fn func(*owner, key)) {
	fn(o, o.wide())
	if m == nil {
		return
	}
	for _, k := range m.families {
		fn(o, k)
	}
	l := f.layerOf(o)
	for i := len(l.places) - 1; i >= 0; i-- { // pushed families, which the settings do not name
		p := l.places[i]
		if p.key.kind == events.ScopeFamily && !f.a.names(p.key.name) && hasToken(m.key.name, p.key.name) {
			fn(o, p.key)
		}
		if p.key.kind < events.ScopeFamily {
			break
		}
	}
	fn(o, m.key)
}

func (a *account) names(family string) bool {
	for i := range a.families {
		if a.families[i].Name == family {
			return true
		}
	}
	return false
}
