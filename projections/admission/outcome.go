package admission

import (
	"strings"

	"github.com/waybill/waybill/events"
)

// succeeded folds a protocol-level terminal success: R6 in every scope that it
// exercised, the end of its trial, and what it carried.
func (f *fold) succeeded(p *events.AttemptSucceeded) {
	at := orTime(p.Answer.AnsweredAt, f.e.ObservedAt)
	s := success{dispatched: orTime(p.Answer.DispatchedAt, at), answered: at,
		knowledge: knowledge{writer: f.e.Writer, knew: p.Knew, own: p.KnewOwn}}
	f.exercised(func(o *owner, k key) {
		l := f.write(o)
		pl := l.change(f.a, k)
		if pl == nil {
			return
		}
		if pl.hot() || l.tape.outs() {
			*o.gen++
		}
		pl.calm(at)
		pl.succeed(s)
	})
	if p.Answer.Reading != nil {
		f.reading(p.Answer.Reading, at, true)
	}
	f.endTrial(at, nil, 0, ends)
	if f.e.Attempt > 1 {
		f.servedElsewhere()
	}
}

// failed folds any other outcome by its class.
func (f *fold) failed(p *events.Failure) {
	at := orTime(p.Answer.AnsweredAt, f.e.ObservedAt)
	if p.Answer.Reading != nil {
		f.reading(p.Answer.Reading, at, true)
	}
	row := classes(p)
	var where *place
	if row.fact != 0 {
		where = f.fact(p, row, at)
	}
	switch {
	case row.failure:
		where = f.failure(p, at)
	case row.contrary:
		f.contrary(at)
	}
	if p.Class == events.ClassUnclassified {
		f.unclassified(p, at)
	}
	axis := row.fact.row().axis
	if row.failure {
		axis = events.AxisHealth
	}
	f.endTrial(at, where, axis, row.end)
}

// ending is how an outcome ends the slots of its trial that it is no fact for.
type ending uint8

const (
	rests ending = iota // trial_backoff
	ends                // at once
)

// classRow is what a class means for admission.
type classRow struct {
	fact     factKind
	scope    events.ScopeKind // where the row names none
	failure  bool             // of health (R12)
	contrary bool             // an answer of the upstream that is no failure
	end      ending
}

// classes is the table of what each class does.
func classes(p *events.Failure) classRow {
	switch p.Class {
	case events.ClassRateLimited:
		return classRow{fact: burst, scope: events.ScopeModel, contrary: true}
	case events.ClassWindowExhausted:
		return classRow{fact: quota, scope: events.ScopeAccount, contrary: true}
	case events.ClassCreditsExhausted:
		return classRow{fact: payment, scope: events.ScopeAccount, contrary: true}
	case events.ClassAuthFailed:
		return classRow{fact: denied, scope: events.ScopeAccount, contrary: true}
	case events.ClassForbidden:
		return forbidden(p)
	case events.ClassModelUnsupported:
		return classRow{fact: unsupported, scope: events.ScopeModel, contrary: true, end: ends}
	case events.ClassInvalidRequest, events.ClassPolicyRefused, events.ClassNotFound:
		return classRow{contrary: true, end: ends}
	case events.ClassOverloaded, events.ClassServerError, events.ClassNetwork, events.ClassTimeout, events.ClassMalformed:
		return classRow{failure: true}
	}
	return classRow{} // unclassified waits for its request; a client that left and a crash are nobody's failure
}

// forbidden by the scope that the row names (R11).
func forbidden(p *events.Failure) classRow {
	row := classRow{scope: events.ScopeAccount, contrary: true}
	switch p.Scope.Kind {
	case events.ScopeModel, events.ScopeFamily:
		row.fact, row.end = unsupported, ends
	case events.ScopeRequest, events.ScopeEndpoint, events.ScopeNone:
		row.end = ends
	default:
		row.fact = denied
		if p.Permanent {
			row.fact = banned
		}
	}
	return row
}

// fact records a fact where it belongs and says where that was.
func (f *fold) fact(p *events.Failure, row classRow, at events.Time) *place {
	kind := row.fact.row()
	o, k := f.a.target(f.shelf(f.a, f.e.Epoch), kind.axis, orElse(p.Scope, row.scope, f.e.Model))
	if o == nil || k.kind == events.ScopeNone {
		return nil
	}
	l := f.write(o)
	pl := l.change(f.a, k)
	if pl == nil { // the owner holds as many scopes as it can: the coarser one takes it
		k = o.wide()
		pl = l.change(f.a, k)
	}
	n := fact{witness: f.witness(at), kind: row.fact, step: max(p.Step, 1)}
	if h := p.Hint; h != nil {
		n.stated, n.guessed = h.Until, h.Guessed
		if n.kind == payment && strings.HasPrefix(h.Source, "calendar:") {
			n.guessed = false // its row's calendar rule counts as stated (R8)
		}
	}
	switch n.kind {
	case quota:
		n.frozen = l.tape.latestReset(k, at)
	case payment:
		n.frozen, n.room = l.tape.periodEnd(at), l.tape.creditAfter(at)
	}
	pl.answer(n)
	if (n.kind == quota || n.kind == payment) && pl.disarm.before(&n.witness) {
		pl.disarm = n.witness
	}
	*o.gen++
	return pl
}

// contrary notes an answer that is no failure of health: it starts the count
// anew in every scope that the dispatch exercised (R12).
func (f *fold) contrary(at events.Time) {
	f.exercised(func(o *owner, k key) {
		if pl := f.write(o).change(f.a, k); pl != nil {
			if pl.failing() {
				*o.gen++
			}
			pl.calm(at)
		}
	})
}

// failure records a failure of health. One with a status shows that the host
// can be reached. It says where a health fact stands if this completed one.
func (f *fold) failure(p *events.Failure, at events.Time) *place {
	scope := p.Scope
	if scope.Kind == events.ScopeUnset && p.Class == events.ClassNetwork && p.Answer.Status == 0 && !p.Committed {
		scope.Kind = events.ScopeEndpoint
	}
	o, k := f.a.target(f.shelf(f.a, f.e.Epoch), events.AxisHealth, orElse(scope, events.ScopeAccount, f.e.Model))
	if e := f.a.endpoint; e != nil && o != e && p.Answer.Status != 0 {
		if pl := f.write(e).change(f.a, e.wide()); pl != nil {
			if pl.failing() {
				*e.gen++
			}
			pl.calm(at)
		}
	}
	if o == nil || k.kind == events.ScopeNone {
		return nil
	}
	n := setback{witness: f.witness(at), step: max(p.Step, 1)}
	if p.Hint != nil {
		n.stated = p.Hint.Until
	}
	return f.fail(o, k, n)
}

func (f *fold) fail(o *owner, k key, n setback) *place {
	l := f.write(o)
	pl := l.change(f.a, k)
	if pl == nil {
		pl = l.change(f.a, o.wide())
	}
	pl.setBack(n)
	pl.settle()
	*o.gen++
	var complete *place
	pl.failures(f.v.doc.Policy.HealthThreshold, func(x *setback) {
		if x.same(&n.witness) {
			complete = pl
		}
	})
	return complete
}

// endTrial ends the slots of the attempt: at the cell where the outcome is a
// fact at once, since the fact takes over; elsewhere as the outcome says.
func (f *fold) endTrial(at events.Time, where *place, axis events.Axis, how ending) {
	end := func(o *owner) {
		if o != nil {
			f.endSlots(o, at, func(p *place, s *slot) (mine, rest bool) {
				return true, how == rests && (where == nil || p != where || s.axis != axis)
			})
		}
	}
	end(f.a.endpoint)
	end(f.a.group)
	for _, s := range f.a.shelves { // the credential may have changed under the attempt
		end(&s.owner)
	}
}
