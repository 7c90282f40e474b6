package admission

import (
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// judge is one look at a path: the cells that have something to say, and the
// first instant at which any of them may say something else.
type judge struct {
	v      *View
	a      *account
	model  string // in lower case
	policy *events.Policy
	now    events.Time
	valid  events.Time
	holder *holder // whose slots do not count, nil for none
	narrow bool    // also the cells that do not cover the path, for people

	clock events.Time // R2, 0 when no claim is exhausted
	spans []span
	cells []cell
}

// cell is one (axis, scope) under judgement.
type cell struct {
	owner  *owner
	key    key
	axis   events.Axis
	place  *place // nil when only a reading speaks of it
	covers bool

	reason  events.Reason
	rank    uint8
	state   cellState
	since   events.Time
	until   events.Time
	reset   events.Time // the latest that a provider has named; until may be ours
	trialAt events.Time // 0 never by time
	never   bool
	step    uint32
	slotEnd events.Time
	held    bool
	refs    [maxRefs]events.Ref
	nrefs   int
	decider witness // fact that decides, to break ties

	walled bool // facts stand
	told   bool // claims park
	muted  bool // claims that do not park: an override is armed
	banned bool
	claims claims
}

// maxRefs bounds the evidence that a report lists per cell.
const maxRefs = 6

// claims is what the exhausted windows of a cell add up to.
type claims struct {
	until events.Time
	since events.Time
	ref   events.Ref // of the window with the latest reset; of several with one reset the newest read, then by name
	by    *claim     // likewise
	fresh bool       // not all are stale
	joins [8]join
	n     int
}

type join struct{ at, reset events.Time }

// cellState is ADMISSION's state of a cell, derived and never stored.
type cellState uint8

const (
	isClear cellState = iota
	isTold
	isWalled
	isDue
	isTrying
	isResting
)

var cellStates = [...]string{"clear", "told", "walled", "due", "trying", "resting"}

func (s cellState) String() string { return cellStates[s] }

// change notes an instant at which the verdict may change by itself.
func (j *judge) change(t events.Time) {
	if t > j.now && (j.valid == 0 || t < j.valid) {
		j.valid = t
	}
}

// begin sets the judge up for a path.
func (j *judge) begin(v *View, a *account, model string, policy *events.Policy, now events.Time) {
	*j = judge{v: v, a: a, model: strings.ToLower(model), policy: policy, now: now, spans: j.spans[:0], cells: j.cells[:0]}
}

// run gathers the cells and derives each one's state.
func (j *judge) run() {
	own := &j.a.shelves[0].owner
	for _, o := range [...]*owner{j.a.endpoint, j.a.group, own, &j.a.desk} {
		if o != nil {
			j.owner(o)
		}
	}
	for i := range j.cells {
		j.derive(&j.cells[i])
	}
}

// owner gathers what one owner has to say.
func (j *judge) owner(o *owner) {
	l := o.top()
	for _, p := range l.places {
		if !p.hot() && p.desk == (desk{}) {
			continue
		}
		covers := j.a.covers(p.key, j.model)
		if !covers && !j.narrow {
			continue
		}
		j.facts(o, l, p, covers)
		j.failures(o, l, p, covers)
		j.operator(o, p, covers)
	}
	for i := range l.tape.claims {
		if l.tape.claims[i].out {
			j.claim(o, l, i)
		}
	}
}

// cell is the cell of an owner, made when it is first heard of.
func (j *judge) cell(o *owner, k key, axis events.Axis, p *place, covers bool) *cell {
	for i := range j.cells {
		if c := &j.cells[i]; c.owner == o && c.axis == axis && c.key == k {
			return c
		}
	}
	j.cells = append(j.cells, cell{owner: o, key: k, axis: axis, place: p, covers: covers})
	return &j.cells[len(j.cells)-1]
}

// facts adds the standing facts of a place (R6, R13).
func (j *judge) facts(o *owner, l *layer, p *place, covers bool) {
	for i := range p.facts {
		f := &p.facts[i]
		row := f.kind.row()
		if j.overcome(l, p, row.axis, &f.witness, f.kind == banned) {
			continue
		}
		c := j.cell(o, p.key, row.axis, p, covers)
		until, trialAt := f.due(j.policy, j.a.changed)
		c.fact(row.reason, row.rank, &f.witness, f.step, until, trialAt)
		if f.names(until) {
			c.reset = max(c.reset, until)
		}
		if f.kind == banned {
			c.banned, c.never = true, true
		}
	}
}

// failures adds the standing health facts of a place (R12).
func (j *judge) failures(o *owner, l *layer, p *place, covers bool) {
	if !p.failing() {
		return
	}
	p.failures(j.policy.HealthThreshold, func(n *setback) {
		if j.overcome(l, p, events.AxisHealth, &n.witness, false) {
			return
		}
		until, trialAt := n.due(j.policy)
		c := j.cell(o, p.key, events.AxisHealth, p, covers)
		c.fact(events.ReasonCoolingDown, rankHealth, &n.witness, n.step, until, trialAt)
		if until == n.stated {
			c.reset = max(c.reset, until)
		}
	})
}

// overcome says whether a fact has been ended: by a success dispatched after
// it, by a trial that passed, or by an operator. A ban yields to the operator
// alone.
func (j *judge) overcome(l *layer, p *place, axis events.Axis, w *witness, ban bool) bool {
	if w.at <= l.releasedAt(p) {
		return true
	}
	if ban {
		return false
	}
	for i := range p.successes {
		if p.successes[i].ends(w, j.policy.ClockSkew) {
			return true
		}
	}
	for i := range p.passes {
		if p.passes[i].axis == axis && p.passes[i].ends(w, j.policy.ClockSkew) {
			return true
		}
	}
	return false
}

// fact adds one standing fact: the instants and the step are maxima, the one
// with the latest trial decides.
func (c *cell) fact(reason events.Reason, rank uint8, w *witness, step uint32, until, trialAt events.Time) {
	first := !c.walled
	c.walled = true
	c.rank = max(c.rank, rank)
	decides := first || trialAt > c.trialAt || trialAt == c.trialAt && c.decider.before(w)
	if decides {
		c.reason, c.since, c.decider = reason, w.at, *w
	}
	c.evidence(w.ref, decides)
	c.until, c.trialAt, c.step = max(c.until, until), max(c.trialAt, trialAt), max(c.step, step)
}

// evidence lists a reference, the deciding one first.
func (c *cell) evidence(ref events.Ref, decides bool) {
	for i, r := range c.refs[:c.nrefs] {
		if r == ref {
			if decides {
				copy(c.refs[1:i+1], c.refs[:i])
				c.refs[0] = ref
			}
			return
		}
	}
	if c.nrefs == maxRefs {
		if !decides {
			return
		}
		c.nrefs--
	}
	c.refs[c.nrefs] = ref
	if decides {
		copy(c.refs[1:c.nrefs+1], c.refs[:c.nrefs])
		c.refs[0] = ref
	}
	c.nrefs++
}

// operator adds what an operator has done to a scope (R18).
func (j *judge) operator(o *owner, p *place, covers bool) {
	d := &p.desk
	if *d == (desk{}) {
		return
	}
	undrained := d.undrained
	if w := o.top().at(o.wide()); w != nil && w.desk.undrained.after(undrained) {
		undrained = w.desk.undrained
	}
	drained := d.drained.after(undrained)
	parked := d.parked.after(undrained) && (d.until == 0 || j.now < d.until)
	if !drained && !parked {
		return
	}
	c := j.cell(o, p.key, events.AxisOperator, p, covers)
	c.walled, c.rank = true, rankOperator
	if parked {
		j.change(d.until)
		c.reason, c.since, c.until, c.trialAt, c.never = events.ReasonParkedByOperator, d.parked.at, d.until, d.until, d.until == 0
		c.evidence(d.parked.ref, true)
	}
	if drained {
		c.reason, c.since, c.until, c.trialAt, c.never = events.ReasonDrained, d.drained.at, 0, 0, true
		c.evidence(d.drained.ref, true)
	}
}

// claim adds an exhausted window or budget to the cells that it speaks of.
func (j *judge) claim(o *owner, l *layer, i int) {
	c := &l.tape.claims[i]
	if c.credit == nil || len(c.credit.Models) == 0 {
		j.park(o, l, i, c.key)
		return
	}
	for m := range c.credit.Models {
		if parks(c.credit.Models[m]) {
			j.park(o, l, i, key{events.ScopeModel, strings.ToLower(c.credit.Models[m].Model)})
		}
	}
}

// park adds one exhausted claim to one cell (R1, R2), unless a success or an
// operator came after it, or an override is armed there (R6).
func (j *judge) park(o *owner, l *layer, i int, k key) {
	covers := j.a.covers(k, j.model)
	if !covers && !j.narrow {
		return
	}
	c, p := &l.tape.claims[i], l.at(k)
	ended := max(p.newestSuccess(), l.releasedAt(p), p.newestPass(c.axis))
	if ended >= c.at {
		return
	}
	cell := j.cell(o, k, c.axis, p, covers)
	cell.reasonOf(c.axis)
	armed := j.armed(l, p)
	if armed > j.now {
		j.change(armed)
		cell.muted = true
		cell.evidence(c.ref, false)
		return
	}
	cell.told = true
	cell.evidence(c.ref, false)
	cell.rank = max(cell.rank, rankClaim)
	stale := c.at.Add(j.policy.ReadingMaxAge + time.Microsecond)
	j.change(stale)
	cell.claims.add(l.tape.runOf(i, ended), c, j.now < stale)
}

// reasonOf names a claim's reason where no fact has named a stronger one.
func (c *cell) reasonOf(axis events.Axis) {
	if c.walled {
		return
	}
	if c.reason = events.ReasonWindowExhausted; axis == events.AxisCredit {
		c.reason = events.ReasonCreditExhausted
	}
}

// later orders claims by what decides, so that the order of arrival does not.
func (c *claim) later(o *claim) bool {
	switch {
	case c.reset() != o.reset():
		return c.reset() > o.reset()
	case c.at != o.at:
		return c.at > o.at
	}
	return c.name < o.name
}

func (s *claims) add(r run, c *claim, fresh bool) {
	if s.by == nil || c.later(s.by) {
		s.until, s.ref, s.by = c.reset(), c.ref, c
	}
	if s.since == 0 || r.joined < s.since {
		s.since = r.joined
	}
	s.fresh = s.fresh || fresh
	n := join{r.joined, r.first}
	if s.n == len(s.joins) { // the latest joins say least
		s.n--
	}
	at := s.n
	for at > 0 && s.joins[at-1].at > n.at {
		s.joins[at] = s.joins[at-1]
		at--
	}
	s.joins[at] = n
	s.n++
}

// trialAt is R2: min(latest reset, clock + cap), each window by the reset that
// it named when it joined, so that repetition moves nothing (R3), and a window
// that joins when the park is due leaves it due (R5).
func (s *claims) trialAt(limit events.Time) events.Time {
	t := events.Time(0)
	for _, n := range s.joins[:s.n] {
		if t == 0 || n.at < t {
			t = max(t, min(n.reset, limit))
		}
	}
	return t
}

// newestPass is when a trial of the axis last passed.
func (p *place) newestPass(axis events.Axis) events.Time {
	t := events.Time(0)
	if p != nil {
		for i := range p.passes {
			if p.passes[i].axis == axis {
				t = max(t, p.passes[i].answered)
			}
		}
	}
	return t
}

// armed is healthy_until of a scope (R6): each success counts by itself unless
// a quota or payment fact was answered after its dispatch.
func (j *judge) armed(l *layer, p *place) events.Time {
	until := events.Time(0)
	if p == nil {
		return l.armedByRelease(nil, j.policy)
	}
	for i := range p.successes {
		s := &p.successes[i]
		if p.disarms(s) {
			continue
		}
		until = max(until, s.answered.Add(j.policy.HealthyWindow))
	}
	return max(until, l.armedByRelease(p, j.policy))
}

// disarms says whether a quota or payment fact came after a success.
func (p *place) disarms(s *success) bool {
	after := func(w *witness) bool { return w.at > s.dispatched && !s.covers(w) }
	for i := range p.facts {
		if f := &p.facts[i]; (f.kind == quota || f.kind == payment) && after(&f.witness) {
			return true
		}
	}
	return after(&p.disarm)
}

func (l *layer) armedByRelease(p *place, policy *events.Policy) events.Time {
	at := l.releasedAt(p)
	if at == 0 || p != nil && p.disarm.at > at {
		return 0
	}
	return at.Add(policy.HealthyWindow)
}
