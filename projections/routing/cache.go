package routing

import (
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// Cache keeps what names resolve to and, per route and account, the newest
// verdict with the first instant at which it may change. It belongs to one
// View and changes no decision. Not safe for concurrent use, as the view.
type Cache struct {
	generation uint64
	routes     map[asking]*route
	gates      int
	scratch    scratch
}

// scratch is the memory of one decision, used again by the next.
type scratch struct {
	candidates []Candidate
	standing   []standing
	busy       []int64 // per candidate: in flight plus one, as far as asked
}

type asking struct {
	dialect events.Dialect
	model   string
}

// The bounds of a cache: model names come from clients, so they may be endless.
const (
	maxRoutes = 1024
	maxGates  = 1 << 16
)

// NewCache is an empty cache.
func NewCache() *Cache { return &Cache{routes: map[asking]*route{}} }

// gate is one member's judgement, with what it rests on.
type gate struct {
	generation uint64
	from       events.Time // judged at; valid from then on
	until      events.Time // first instant at which the verdict may change, 0 never
	verdict    *admission.Verdict
	rooms      []admission.Room
}

// borrow gives a walk the memory that it needs, the cache's own where there is
// one.
func (d *walk) borrow() {
	n := len(d.route.members) + 1
	c := d.view.Cache
	if c == nil {
		d.scratch = &scratch{candidates: make([]Candidate, 0, n)}
	} else {
		d.scratch = &c.scratch
	}
	d.out.Candidates = slices.Grow(d.scratch.candidates[:0], n)
	d.scratch.candidates = d.out.Candidates
	d.scratch.standing = slices.Grow(d.scratch.standing[:0], n)[:n]
	d.scratch.busy = d.scratch.busy[:0]
}

func (v View) route(dialect events.Dialect, asked string) *route {
	c := v.Cache
	if c == nil {
		return resolve(v.Admission, dialect, asked)
	}
	if now := v.Admission.RosterGeneration(); c.generation != now {
		c.generation = now
		c.clear()
	}
	key := asking{dialect, asked}
	if r := c.routes[key]; r != nil {
		return r
	}
	r := resolve(v.Admission, dialect, asked)
	if len(r.members) == 0 {
		return r // unknown names are not worth a place
	}
	if len(c.routes) >= maxRoutes || c.gates+len(r.members) > maxGates {
		c.clear()
	}
	if len(r.members) <= maxGates {
		c.gates += len(r.members)
		c.routes[key] = r
	}
	return r
}

func (c *Cache) clear() {
	c.routes = map[asking]*route{}
	c.gates = 0
}

// judge is Admit's verdict on a member, and the rooms that placement weighs.
func (d *walk) judge(i int) *gate {
	m, g := &d.route.members[i], &d.route.gates[i]
	generation := d.view.Admission.Generation(m.account.No)
	if g.verdict != nil && g.generation == generation && g.from <= d.now && (g.until == 0 || d.now < g.until) {
		return g
	}
	return d.fresh(m, g, generation)
}

func (d *walk) fresh(m *member, g *gate, generation uint64) *gate {
	path := admission.Path{Account: m.account.No, Model: m.model}
	verdict := admission.Admit(d.view.Admission, path, d.policy, d.now)
	if g.verdict == nil || g.generation != generation {
		g.rooms = d.view.Admission.AppendRooms(g.rooms[:0], path)
	}
	g.generation, g.from, g.until = generation, d.now, verdict.Valid
	if g.verdict == nil || *g.verdict != verdict {
		g.verdict = &verdict // decisions keep the former one: never overwritten
	}
	return g
}
