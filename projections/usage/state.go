package usage

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/projections/canon"
)

// open is a request under way as the state holds it.
type open struct {
	id uuid.UUID
	*asked
}

// inOrder lists the requests under way, longest untouched first.
func (v *View) inOrder() []open {
	out := make([]open, 0, len(v.open))
	for id, a := range v.open {
		out = append(out, open{id, a})
	}
	slices.SortFunc(out, func(a, b open) int { return cmp.Compare(a.last, b.last) })
	return out
}

// AppendState implements projections.Projection.
func (v *View) AppendState(b []byte) []byte {
	c := canon.Writer(b)
	under := v.inOrder()
	v.state(c, &under)
	return c.Bytes()
}

// LoadState implements projections.Projection.
func (v *View) LoadState(b []byte) error {
	fresh, c := New(), canon.Reader(b)
	var under []open
	if fresh.state(c, &under); fresh.accounts.Len() != len(fresh.providers) {
		c.Fail()
	}
	if err := c.Close(); err != nil {
		return err
	}
	for _, o := range under {
		fresh.open[o.id] = o.asked
	}
	for i, p := range fresh.paths[1:] {
		fresh.byPath[p] = uint32(i + 1)
	}
	for by := range fresh.groups {
		for _, g := range fresh.groups[by] {
			fresh.parts[by] += len(g.parts)
		}
	}
	*v = *fresh
	return nil
}

func (v *View) state(c *canon.Coder, under *[]open) {
	v.accounts.State(c)
	canon.Slice(c, &v.providers, (*canon.Coder).String)
	paths := v.paths[1:]
	canon.Slice(c, &paths, pathState)
	if c.Reading() {
		v.paths = append(v.paths, paths...)
	}
	v.lists.State(c)
	canon.Slice(c, under, openState)
	for by := range v.groups {
		members(c, v.groups[by], (*canon.Coder).String, newGroup, v.groupState)
	}
}

func (v *View) groupState(c *canon.Coder, g *group) {
	for _, n := range g.Counts.all() {
		canon.Int(c, n)
	}
	members(c, g.parts, func(c *canon.Coder, at *uint32) {
		if canon.Uint(c, at); int(*at) >= len(v.paths) {
			c.Fail()
		}
	}, func() *part { return &part{} }, func(c *canon.Coder, p *part) {
		for _, n := range p.all() {
			canon.Int(c, n)
		}
	})
}

// members writes a map in the order of its keys, and reads it back.
func members[K cmp.Ordered, V any](c *canon.Coder, m map[K]*V, key func(*canon.Coder, *K), fresh func() *V, value func(*canon.Coder, *V)) {
	keys := slices.Sorted(maps.Keys(m))
	canon.Slice(c, &keys, func(c *canon.Coder, k *K) {
		key(c, k)
		if c.Reading() {
			m[*k] = fresh()
		}
		value(c, m[*k])
	})
}

func pathState(c *canon.Coder, p *Path) {
	c.String(&p.Account)
	c.String(&p.Provider)
	c.String(&p.Model)
}

func openState(c *canon.Coder, o *open) {
	if c.Reading() {
		o.asked = &asked{}
	}
	c.Fixed(o.id[:])
	c.String(&o.client)
	c.String(&o.model)
	canon.Int(c, &o.at)
	canon.Uint(c, &o.last)
	canon.Slice(c, &o.touched, canon.Uint[uint32])
}
