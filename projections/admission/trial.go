package admission

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// slot is the right to test one cell, held by one attempt (R4). A slot that has
// ended stays, since it may rest.
type slot struct {
	axis    events.Axis
	request uuid.UUID
	attempt uint32
	ref     events.Ref // of the claim
	step    uint32
	lease   events.Time // ends here at the latest
	ended   events.Time // by an event, 0 while none has
	rests   bool        // others wait trial_backoff from its end
	knowledge
}

func (s *slot) of(request uuid.UUID, attempt uint32) bool {
	return s.request == request && s.attempt == attempt
}

// held says that the slot is taken at an instant.
func (s *slot) held(now events.Time) bool { return s.ended == 0 && now < s.lease }

// until is when the slot is free again at the latest: its lease's end, or its
// rest's, or 0 when it is free now.
func (s *slot) until(now events.Time, p *events.Policy) events.Time {
	if s.ended == 0 {
		if now < s.lease {
			return s.lease
		}
		return 0
	}
	if rest := s.ended.Add(p.TrialBackoff); s.rests && now < rest {
		return rest
	}
	return 0
}

// pass is a trial's first meaningful frame: it ends in its cell what a success
// would end, and arms nothing.
type pass struct {
	axis events.Axis
	success
}

// busy is when the axis' slots are all free again, and whether one is held.
func (p *place) busy(axis events.Axis, now events.Time, policy *events.Policy, holder *holder) (until events.Time, held bool) {
	for i := range p.slots {
		s := &p.slots[i]
		if s.axis != axis || holder != nil && s.of(holder.request, holder.attempt) {
			continue
		}
		if u := s.until(now, policy); u > until {
			until, held = u, s.ended == 0
		}
	}
	return until, held
}

// holder is the attempt whose own slots do not stand in its way.
type holder struct {
	request uuid.UUID
	attempt uint32
}

// take adds a slot. Those that are over stay for as long as their axis has room:
// an answer may still come that has to know what their decisions knew.
func (l *layer) take(p *place, s slot, now events.Time) {
	over, n := -1, 0
	for i := range p.slots {
		o := &p.slots[i]
		if o.axis != s.axis {
			continue
		}
		if n++; over < 0 && (o.ended != 0 || o.lease <= now) {
			over = i
		}
	}
	if n >= maxSlots {
		if over < 0 {
			return
		}
		if p.slots[over].ended == 0 {
			l.open--
		}
		p.slots = slices.Delete(p.slots, over, over+1)
	}
	p.slots = append(p.slots, s)
	l.open++
}

// claimed folds trial.claimed: granted iff every slot is free at its position.
func (f *fold) claimed(t *events.Trial) {
	for i := range t.Cells {
		free := true
		f.cells(&t.Cells[i], func(o *owner, k key) {
			if p := f.layerOf(o).at(k); p != nil {
				until, _ := p.busy(t.Cells[i].Axis, f.e.ObservedAt, &f.v.doc.Policy, nil)
				free = free && until == 0
			}
		})
		if !free {
			return
		}
	}
	for i := range t.Cells {
		f.take(&t.Cells[i], t)
	}
}

func (f *fold) take(c *events.Cell, t *events.Trial) {
	f.cells(c, func(o *owner, k key) {
		l := f.write(o)
		p := l.change(f.a, k)
		if p == nil {
			return
		}
		l.take(p, slot{axis: c.Axis, request: f.e.Request, attempt: f.e.Attempt, ref: f.ref, step: t.Step, lease: t.Lease,
			knowledge: knowledge{writer: f.e.Writer, knew: f.e.Position, own: f.e.WriterSeq}}, f.e.ObservedAt)
		*o.gen++
	})
}

// cells calls fn for every place that a claimed cell means: evidence of an
// account that joined a group lies partly with the account, partly with the
// group. A cell names the place that Explain shows, so the account's own is
// meant literally: evidence that the group shares is named by the group.
func (f *fold) cells(c *events.Cell, fn func(*owner, key)) {
	s := f.shelf(f.a, f.e.Epoch)
	if c.Scope.Kind == events.ScopeAccount {
		fn(&s.owner, s.wide())
		return
	}
	o, k := f.a.target(s, c.Axis, c.Scope)
	if o == nil {
		return
	}
	fn(o, k)
	if o == f.a.group && !k.wide() {
		fn(&s.owner, k)
	}
}

// routed folds a decision to dispatch. Its trial is the claim of rate and
// health cells, and of every cell when it could not be claimed.
func (f *fold) routed(p *events.AttemptRouted) {
	if p.Trial == nil {
		return
	}
	k := knowledge{writer: f.e.Writer, knew: p.Stamp.View, own: p.Stamp.Pending}
	for i := range p.Trial.Cells {
		c := &p.Trial.Cells[i]
		known := false
		f.cells(c, func(o *owner, at key) {
			known = f.inform(o, at, c.Axis, k) || known
		})
		if !known && (p.Unclaimed || c.Axis == events.AxisRate || c.Axis == events.AxisHealth) {
			f.take(c, p.Trial)
			f.cells(c, func(o *owner, at key) { f.inform(o, at, c.Axis, k) })
		}
	}
}

// inform notes what the decision behind a slot knew, and says whether the
// attempt still holds a slot there: one that it gave back is no claim.
func (f *fold) inform(o *owner, at key, axis events.Axis, k knowledge) bool {
	if p := f.layerOf(o).at(at); p == nil || !p.holds(axis, f.e.Request, f.e.Attempt) {
		return false
	}
	p := f.write(o).change(f.a, at)
	open := false
	for i := range p.slots {
		if s := &p.slots[i]; s.axis == axis && s.of(f.e.Request, f.e.Attempt) {
			s.knowledge = k
			open = open || s.ended == 0
		}
	}
	return open
}

func (p *place) holds(axis events.Axis, request uuid.UUID, attempt uint32) bool {
	return slices.ContainsFunc(p.slots, func(s slot) bool { return s.axis == axis && s.of(request, attempt) })
}

// passed folds trial.passed.
func (f *fold) passed(p *events.TrialPassed) {
	at := orTime(p.AnsweredAt, f.e.ObservedAt)
	for i := range p.Cells {
		c := &p.Cells[i]
		f.cells(c, func(o *owner, k key) {
			l := f.write(o)
			pl := l.change(f.a, k)
			if pl == nil {
				return
			}
			s := success{dispatched: p.DispatchedAt, answered: at}
			for j := range pl.slots {
				if t := &pl.slots[j]; t.axis == c.Axis && t.of(f.e.Request, f.e.Attempt) {
					s.knowledge = t.knowledge
					l.end(t, at, false)
				}
			}
			pl.pass(pass{axis: c.Axis, success: s})
			*o.gen++
		})
	}
}

// pass keeps the newest passes of an axis.
func (p *place) pass(n pass) {
	for i := range p.passes {
		if o := &p.passes[i]; o.axis == n.axis && o.success.beats(&n.success) {
			return
		}
	}
	p.passes = slices.DeleteFunc(p.passes, func(o pass) bool { return o.axis == n.axis && n.success.beats(&o.success) })
	first, kept := -1, 0
	for i := range p.passes {
		if p.passes[i].axis == n.axis {
			if kept++; first < 0 {
				first = i
			}
		}
	}
	if kept >= maxPasses {
		p.passes = slices.Delete(p.passes, first, first+1)
	}
	p.passes = append(p.passes, n)
}

// end ends a slot, unless its lease ended it before.
func (l *layer) end(s *slot, at events.Time, rests bool) {
	if s.ended != 0 {
		return
	}
	l.open--
	s.ended, s.rests = max(at, 1), rests && at < s.lease
}

// closed folds trial.closed.
func (f *fold) closed(p *events.TrialClosed) {
	for i := range p.Cells {
		c := &p.Cells[i]
		f.cells(c, func(o *owner, k key) {
			if pl := f.layerOf(o).at(k); pl == nil || !pl.holds(c.Axis, f.e.Request, f.e.Attempt) {
				return
			}
			f.endSlots(o, f.e.ObservedAt, func(at *place, s *slot) (mine, rests bool) {
				return at.key == k && s.axis == c.Axis, p.End == events.TrialNeutral
			})
		})
	}
}

// endSlots ends the attempt's open slots of an owner that how picks.
func (f *fold) endSlots(o *owner, at events.Time, how func(*place, *slot) (mine, rests bool)) {
	if f.layerOf(o).open == 0 {
		return
	}
	l := f.write(o)
	for i := range l.places {
		for j := range l.places[i].slots {
			s := &l.places[i].slots[j]
			if s.ended != 0 || !s.of(f.e.Request, f.e.Attempt) {
				continue
			}
			mine, rests := how(l.places[i], s)
			if !mine {
				continue
			}
			p := l.change(f.a, l.places[i].key)
			l.end(&p.slots[j], at, rests)
			*o.gen++
		}
	}
}
