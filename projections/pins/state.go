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

func fields(c *canon.Coder, ids *[]string, entries *[]entry) {
	canon.Slice(c, ids, func(c *canon.Coder, s *string) { c.String(s) })
	canon.Slice(c, entries, func(c *canon.Coder, e *entry) { e.fields(c) })
}

// AppendState implements projections.Projection.
func (v *View) AppendState(b []byte) []byte {
	ids := v.numbers.ids()
	entries := make([]entry, 0, v.committed.len())
	v.committed.each(func(s *slot) { entries = append(entries, entry{s.key, s.pin}) })
	c := canon.Writer(b)
	fields(c, &ids, &entries)
	return c.Bytes()
}

// LoadState implements projections.Projection.
func (v *View) LoadState(b []byte) error {
	var ids []string
	var entries []entry
	c := canon.Reader(b)
	fields(c, &ids, &entries)
	if err := c.Close(); err != nil {
		return fmt.Errorf("load pins: %w", err)
	}
	*v = View{committed: newTable(Capacity)}
	for _, id := range ids {
		v.numbers.enrol(id)
	}
	for i := range entries {
		v.committed.put(entries[i].key, entries[i].pin)
	}
	return nil
}
