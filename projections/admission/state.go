package admission

import (
	"fmt"
	"maps"
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/canon"
)

// AppendState implements projections.Projection.
func (v *View) AppendState(b []byte) []byte {
	c := canon.Writer(b)
	v.state(c)
	return c.Bytes()
}

// LoadState implements projections.Projection.
func (v *View) LoadState(b []byte) error {
	n := New()
	c := canon.Reader(b)
	n.state(c)
	if err := c.Close(); err != nil {
		return fmt.Errorf("load admission state: %w", err)
	}
	for _, a := range n.accounts {
		n.settle(a)
		n.publish(a)
		a.gen += (v.loads + 1) << 48 // no memo of a former state may look good
	}
	n.generation += (v.loads + 1) << 48
	n.loads = v.loads + 1
	*v = *n
	return nil
}

func (v *View) state(c *canon.Coder) {
	adopted := events.PolicyAdopted{Digest: v.digest, Document: *v.doc}
	payload(c, &adopted)
	if c.Reading() {
		doc := adopted.Document
		v.doc, v.digest = &doc, adopted.Digest
	}
	owners(c, v.endpoints, events.ScopeEndpoint)
	owners(c, v.groups, events.ScopeGroup)
	canon.Slice(c, &v.accounts, func(c *canon.Coder, p **account) {
		if c.Reading() {
			*p = &account{}
			(*p).desk = newOwner(events.ScopeAccount, &(*p).gen)
		}
		(*p).state(c)
		if c.Reading() {
			(*p).No = uint32(len(v.roster) + 1)
			v.roster = append(v.roster, nil)
			v.byID[(*p).ID] = *p
		}
	})
	canon.Slice(c, &v.mysteries.base, func(c *canon.Coder, m *mystery) { m.state(c) })
}

// payload codes one of the events' structs in its stored form.
func payload[T any, P interface {
	*T
	events.Payload
}](c *canon.Coder, p P) {
	if !c.Reading() {
		r := events.Seal(&events.Draft{Data: p})
		s := string(r.Payload)
		canon.Uint(c, &r.Version)
		c.String(&s)
		return
	}
	r := events.Record{Kind: p.Kind(), Codec: events.CodecWire}
	var s string
	canon.Uint(c, &r.Version)
	c.String(&s)
	r.Payload = []byte(s)
	if got, err := r.Open(); err == nil {
		if q, ok := got.(P); ok {
			*p = *q
			return
		}
	}
	c.Fail()
}

func owners(c *canon.Coder, all map[string]*owner, kind events.ScopeKind) {
	names := slices.Sorted(maps.Keys(all))
	canon.Slice(c, &names, func(c *canon.Coder, name *string) {
		c.String(name)
		if c.Reading() {
			sharedOwner(all, *name, kind)
		}
		o := all[*name]
		if o == nil {
			c.Fail()
			return
		}
		o.base.state(c)
	})
}

func (a *account) state(c *canon.Coder) {
	c.String(&a.ID)
	canon.Uint(c, &a.Epoch)
	enrolled := events.AccountEnrolled{Settings: a.Settings}
	payload(c, &enrolled)
	a.Settings = enrolled.Settings
	c.Bool(&a.Retired)
	canon.Int(c, &a.retired)
	canon.Int(c, &a.changed)
	a.desk.base.state(c)
	canon.Slice(c, &a.shelves, func(c *canon.Coder, s **shelf) {
		if c.Reading() {
			*s = &shelf{owner: newOwner(events.ScopeAccount, &a.gen)}
		}
		canon.Uint(c, &(*s).epoch)
		(*s).base.state(c)
	})
	if c.Reading() && len(a.shelves) == 0 {
		c.Fail()
		a.shelves = []*shelf{{owner: newOwner(events.ScopeAccount, &a.gen)}}
	}
}

func (l *layer) state(c *canon.Coder) {
	canon.Slice(c, &l.places, func(c *canon.Coder, p **place) {
		if c.Reading() {
			*p = &place{}
		}
		(*p).state(c)
		for i := range (*p).slots {
			if c.Reading() && (*p).slots[i].ended == 0 {
				l.open++
			}
		}
	})
	l.tape.state(c)
}

func (k *key) state(c *canon.Coder) {
	canon.Uint(c, &k.kind)
	c.String(&k.name)
}

func (p *place) state(c *canon.Coder) {
	p.key.state(c)
	canon.Slice(c, &p.successes, func(c *canon.Coder, s *success) { s.state(c) })
	canon.Slice(c, &p.facts, func(c *canon.Coder, f *fact) { f.state(c) })
	canon.Slice(c, &p.setbacks, func(c *canon.Coder, n *setback) { n.state(c) })
	canon.Slice(c, &p.calms, func(c *canon.Coder, t *events.Time) { canon.Int(c, t) })
	canon.Slice(c, &p.passes, func(c *canon.Coder, x *pass) {
		canon.Uint(c, &x.axis)
		x.success.state(c)
	})
	canon.Slice(c, &p.slots, func(c *canon.Coder, s *slot) { s.state(c) })
	canon.Int(c, &p.released)
	p.disarm.state(c)
	for _, s := range [...]*stamp{&p.desk.drained, &p.desk.undrained, &p.desk.parked} {
		canon.Int(c, &s.at)
		canon.Int(c, &s.ref)
	}
	canon.Int(c, &p.desk.until)
}

func (w *witness) state(c *canon.Coder) {
	canon.Int(c, &w.at)
	canon.Int(c, &w.ref)
	c.Fixed(w.writer[:])
	canon.Uint(c, &w.seq)
}

func (k *knowledge) state(c *canon.Coder) {
	c.Fixed(k.writer[:])
	canon.Uint(c, &k.knew)
	canon.Uint(c, &k.own)
}

func (s *success) state(c *canon.Coder) {
	canon.Int(c, &s.dispatched)
	canon.Int(c, &s.answered)
	s.knowledge.state(c)
}

func (f *fact) state(c *canon.Coder) {
	f.witness.state(c)
	canon.Uint(c, &f.kind)
	canon.Uint(c, &f.step)
	canon.Int(c, &f.stated)
	c.Bool(&f.guessed)
	canon.Int(c, &f.frozen)
	canon.Int(c, &f.room)
}

func (n *setback) state(c *canon.Coder) {
	n.witness.state(c)
	c.Bool(&n.strict)
	canon.Uint(c, &n.step)
	canon.Int(c, &n.stated)
}

func (s *slot) state(c *canon.Coder) {
	canon.Uint(c, &s.axis)
	c.Fixed(s.request[:])
	canon.Uint(c, &s.attempt)
	canon.Int(c, &s.ref)
	canon.Uint(c, &s.step)
	canon.Int(c, &s.lease)
	canon.Int(c, &s.ended)
	c.Bool(&s.rests)
	s.knowledge.state(c)
}

func (t *tape) state(c *canon.Coder) {
	canon.Slice(c, &t.claims, func(c *canon.Coder, x *claim) { x.state(c) })
	canon.Slice(c, &t.marks, func(c *canon.Coder, m *mark) {
		canon.Int(c, &m.at)
		canon.Int(c, &m.ref)
		canon.Uint(c, &m.claim)
		c.Bool(&m.out)
		canon.Int(c, &m.reset)
		if int(m.claim) >= len(t.claims) {
			c.Fail()
		}
	})
	canon.Int(c, &t.streak)
	canon.Slice(c, &t.lines, func(c *canon.Coder, l *line) {
		canon.Int(c, &l.at)
		canon.Int(c, &l.ref)
		c.Bool(&l.billed)
		canon.Uint(c, &l.plan)
		canon.Int(c, &l.period)
		c.Bool(&l.room)
	})
}

func (x *claim) state(c *canon.Coder) {
	x.key.state(c)
	canon.Uint(c, &x.axis)
	c.String(&x.name)
	canon.Int(c, &x.at)
	canon.Int(c, &x.ref)
	c.Bool(&x.out)
	c.Bool(&x.inBand)
	r := events.QuotaFetched{Reading: events.Reading{Source: x.source, Credit: x.credit}}
	if x.axis == events.AxisWindow {
		r.Windows = []events.Window{x.window}
	}
	payload(c, &r)
	x.source, x.credit = r.Source, r.Credit
	if len(r.Windows) == 1 {
		x.window = r.Windows[0]
	}
	for _, t := range [...]*events.Time{&x.before.joined, &x.before.first, &x.before.last, &x.before.reset} {
		canon.Int(c, t)
	}
}

func (m *mystery) state(c *canon.Coder) {
	c.Fixed(m.request[:])
	canon.Slice(c, &m.asked, func(c *canon.Coder, s *suspect) {
		canon.Uint(c, &s.account)
		canon.Uint(c, &s.epoch)
		canon.Uint(c, &s.scope.Kind)
		c.String(&s.scope.Name)
		s.setback.state(c)
		c.Bool(&s.counted)
	})
	canon.Slice(c, &m.servers, func(c *canon.Coder, n *uint32) { canon.Uint(c, n) })
}
