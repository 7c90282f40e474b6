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
	fresh.state(c, &under)
	if err := c.Close(); err != nil {
		return err
	}
	for _, o := range under {
		fresh.open[o.id] = o.asked
	}
	for i, id := range fresh.names {
		fresh.byName[id] = uint32(i + 1)
	}
	*v = *fresh
	return nil
}

func (v *View) state(c *canon.Coder, under *[]open) {
	canon.Slice(c, &v.names, (*canon.Coder).String)
	v.lists.State(c)
	canon.Slice(c, under, openState)
	for by := range v.sums {
		keys := slices.Sorted(maps.Keys(v.sums[by]))
		canon.Slice(c, &keys, func(c *canon.Coder, key *string) {
			c.String(key)
			if c.Reading() {
				v.sums[by][*key] = &Sum{Key: *key}
			}
			for _, n := range v.sums[by][*key].counts() {
				canon.Int(c, n)
			}
		})
	}
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
