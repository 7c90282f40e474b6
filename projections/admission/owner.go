package admission

import (
	"slices"

	"github.com/waybill/waybill/events"
)

// The bounds of what an owner keeps. Beyond them the coarser scope takes a
// fact, a claim is left out (claims fail open), and a success is forgotten for
// the narrow scope only.
const (
	maxPlaces    = 256 // scopes per owner
	maxClaims    = 64  // windows per owner
	maxMarks     = 48  // readings of windows that may still be reordered
	maxLines     = 32  // billing and credit readings kept for facts that arrive late
	maxFacts     = 12  // per scope and axis
	maxSuccesses = 16  // per scope
	maxSetbacks  = 24  // failures per scope
	maxCalms     = 16  // contrary answers per scope
	maxPasses    = 4   // per scope and axis
	maxSlots     = 4   // per scope and axis
	maxShelves   = 3   // credentials of an account whose evidence is kept
)

// owner is who evidence belongs to: a host, a quota group, an account under one
// credential, or an account as its operator sees it.
type owner struct {
	kind events.ScopeKind // of evidence about all of it
	base *layer           // committed
	over *layer           // with own pending events; nil when there are none
	gen  *uint64          // changes whenever a verdict or a room may have changed
}

// newOwner counts in gen: an account's owners all count in its own.
func newOwner(kind events.ScopeKind, gen *uint64) owner {
	return owner{kind: kind, base: newLayer(), gen: gen}
}

func (o *owner) wide() key { return key{kind: o.kind} }

// top is the layer that is judged.
func (o *owner) top() *layer {
	if o.over != nil {
		return o.over
	}
	return o.base
}

// layer is all evidence of an owner, or a copy of it that also holds own
// pending events. A copy shares what it has not changed.
type layer struct {
	places []*place // in order of their keys
	tape   *tape
	open   int // slots that no event has ended: outcomes look for theirs only then
	copied bool
}

func newLayer() *layer { return &layer{tape: &tape{}} }

func (l *layer) copy() *layer {
	return &layer{places: slices.Clone(l.places), tape: l.tape, open: l.open, copied: true}
}

func (l *layer) index(k key) (int, bool) {
	if len(l.places) > 0 && l.places[0].key == k {
		return 0, true
	}
	return slices.BinarySearchFunc(l.places, k, func(p *place, k key) int { return p.key.compare(k) })
}

// at finds a scope's place, nil when nothing was recorded there.
func (l *layer) at(k key) *place {
	if i, ok := l.index(k); ok {
		return l.places[i]
	}
	return nil
}

// change is a scope's place for writing; nil when there is none and no room
// for another.
func (l *layer) change(a *account, k key) *place {
	i, ok := l.index(k)
	if ok {
		if p := l.places[i]; l.copied && !p.copied {
			l.places[i] = p.copy()
		}
		return l.places[i]
	}
	if len(l.places) >= maxPlaces && !l.evict(k) {
		return nil
	}
	i, _ = l.index(k)
	p := &place{key: k, copied: l.copied}
	if k.kind == events.ScopeFamily {
		l.inherit(a, p)
	}
	l.places = slices.Insert(l.places, i, p)
	return p
}

// inherit gives a new family what its models were answered, so that it does not
// matter whether a family was heard of before or after they were served.
func (l *layer) inherit(a *account, family *place) {
	for _, p := range l.places {
		if p.key.kind != events.ScopeModel || !a.inFamily(family.key.name, p.key.name) {
			continue
		}
		for _, at := range p.calms {
			family.calm(at)
		}
		for i := range p.successes {
			family.succeed(p.successes[i])
		}
	}
}

// evict makes room by forgetting the narrow scope whose success is the oldest
// among those that hold nothing else.
func (l *layer) evict(k key) bool {
	oldest, at := -1, events.Time(0)
	for i, p := range l.places {
		if p.key.wide() || p.key == k || !p.idle() || l.tape.speaksOf(p.key) {
			continue
		}
		if t := p.newestSuccess(); oldest < 0 || t < at {
			oldest, at = i, t
		}
	}
	if oldest < 0 {
		return false
	}
	l.places = slices.Delete(l.places, oldest, oldest+1)
	return true
}

// record is the tape for writing.
func (l *layer) record() *tape {
	if l.copied && !l.tape.copied {
		l.tape = l.tape.copy()
	}
	return l.tape
}

// place is everything recorded about one scope of one owner, on all axes.
type place struct {
	key       key
	successes []success     // R6: those that no other beats
	facts     []fact        // by answered-at
	setbacks  []setback     // R12: failures, by answered-at
	calms     []events.Time // and contrary answers
	passes    []pass
	slots     []slot
	released  events.Time // newest operator.released
	disarm    witness     // newest quota or payment fact, also when it was ended since
	desk      desk
	copied    bool
}

func (p *place) copy() *place {
	c := *p
	c.copied = true
	c.successes = slices.Clone(p.successes)
	c.facts = slices.Clone(p.facts)
	c.setbacks = slices.Clone(p.setbacks)
	c.calms = slices.Clone(p.calms)
	c.passes = slices.Clone(p.passes)
	c.slots = slices.Clone(p.slots)
	return &c
}

// idle says that the place holds nothing but successes.
func (p *place) idle() bool {
	return len(p.facts) == 0 && !p.failing() && len(p.slots) == 0 && p.released == 0 && p.desk == desk{}
}

// hot says that a success here may change a verdict.
func (p *place) hot() bool { return len(p.facts) > 0 || p.failing() }

func (p *place) failing() bool { return len(p.setbacks) > 0 }

func (p *place) newestSuccess() events.Time {
	var t events.Time
	if p == nil {
		return 0
	}
	for i := range p.successes {
		t = max(t, p.successes[i].answered)
	}
	return t
}
