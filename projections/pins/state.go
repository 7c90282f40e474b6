package pins

import (
	"fmt"

	"github.com/waybill/waybill/projections/canon"
)

// entry is a pin as the state holds it, in order of use.
type entry struct {
	key key
	pin Pin
}

func (e *entry) fields(c *canon.Coder) {
	c.Fixed(e.key.session[:])
	c.Fixed(e.key.route[:])
	canon.Uint(c, &e.pin.Account)
	canon.Int(c, &e.pin.Since)
	canon.Int(c, &e.pin.Used)
}

func (v *View) state(c *canon.Coder, entries *[]entry) {
	v.numbers.State(c)
	canon.Slice(c, entries, func(c *canon.Coder, e *entry) { e.fields(c) })
}

// AppendState implements projections.Projection.
func (v *View) AppendState(b []byte) []byte {
	entries := make([]entry, 0, v.committed.len())
	v.committed.each(func(s *slot) { entries = append(entries, entry{s.key, s.pin}) })
	c := canon.Writer(b)
	v.state(c, &entries)
	return c.Bytes()
}

// LoadState implements projections.Projection.
func (v *View) LoadState(b []byte) error {
	fresh, c := New(), canon.Reader(b)
	var entries []entry
	fresh.state(c, &entries)
	if err := c.Close(); err != nil {
		return fmt.Errorf("load pins: %w", err)
	}
	for i := range entries {
		fresh.committed.put(entries[i].key, entries[i].pin)
	}
	*v = *fresh
	return nil
}
