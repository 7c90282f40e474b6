package requests

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/canon"
)

// AppendState implements projections.Projection.
func (v *View) AppendState(b []byte) []byte {
	c := canon.Writer(b)
	open, ended := v.openRows(), v.inOrder()
	v.state(c, &open, &ended)
	return c.Bytes()
}

// LoadState implements projections.Projection.
func (v *View) LoadState(b []byte) error {
	fresh := New(v.keep)
	c := canon.Reader(b)
	var open, ended []*Row
	fresh.state(c, &open, &ended)
	if err := c.Close(); err != nil {
		return err
	}
	fresh.query, fresh.recording = v.query, v.recording
	fresh.from = fresh.at
	fresh.restore(open, ended)
	*v = *fresh
	return nil
}

func (v *View) state(c *canon.Coder, open, ended *[]*Row) {
	canon.Uint(c, &v.at)
	canon.Uint(c, &v.dropped)
	c.Fixed(v.trouble[:])
	v.accounts.State(c)
	v.lists.State(c)
	canon.Slice(c, open, rowState)
	if ended != nil {
		canon.Slice(c, ended, rowState)
	}
}

// restore rebuilds what follows from the rows.
func (v *View) restore(open, ended []*Row) {
	v.idle = nil
	for _, r := range ended {
		v.rows[r.ID] = r
	}
	for _, r := range open {
		v.rows[r.ID] = r
		if r.idle != 0 {
			v.idle = append(v.idle, idleSince{r, r.Last})
		}
	}
	slices.SortFunc(v.idle, func(a, b idleSince) int { return int(a.last) - int(b.last) })
	v.ended = ended[max(0, len(ended)-v.keep):]
}

func rowState(c *canon.Coder, p **Row) {
	if c.Reading() {
		*p = &Row{}
	}
	(*p).state(c)
}

// state writes the row, or reads it over whatever it held.
func (r *Row) state(c *canon.Coder) {
	c.Fixed(r.Session[:]) // first: EachRow looks at it before it reads the rest
	c.Fixed(r.ID[:])
	c.Fixed(r.Writer[:])
	canon.Int(c, &r.Started)
	canon.Int(c, &r.Ended)
	c.String(&r.Client)
	canon.Uint(c, &r.Dialect)
	c.String(&r.Asked)
	canon.Uint(c, &r.Outcome)
	canon.Uint(c, &r.Status)
	c.String(&r.Code)
	canon.Uint(c, &r.Class)
	canon.Numbers(c, &r.Tried)
	canon.Uint(c, &r.Served)
	canon.Numbers(c, &r.Skipped)
	canon.Uint(c, &r.First)
	canon.Uint(c, &r.Last)
	canon.Numbers(c, &r.Decisions)
	canon.Int(c, &r.idle)
	attemptState(c, &r.open)
}

func attemptState(c *canon.Coder, p **OpenAttempt) {
	has := *p != nil
	if c.Bool(&has); !has {
		*p = nil
		return
	}
	if c.Reading() {
		*p = &OpenAttempt{}
	}
	a := *p
	uuids(c, &a.ID, &a.Writer, &a.Request)
	canon.Uint(c, &a.WriterSeq)
	canon.Int(c, &a.ObservedAt)
	c.String(&a.Account)
	canon.Uint(c, &a.Epoch)
	c.String(&a.Model)
	canon.Uint(c, &a.Attempt)
	canon.Uint(c, &a.Position)
	canon.Int(c, &a.DecidedAt)
	canon.Uint(c, &a.Chosen)
	trialState(c, &a.Trial)
}

func trialState(c *canon.Coder, p **events.Trial) {
	has := *p != nil
	if c.Bool(&has); !has {
		return
	}
	if c.Reading() {
		*p = &events.Trial{}
	}
	t := *p
	canon.Slice(c, &t.Cells, func(c *canon.Coder, cell *events.Cell) {
		canon.Uint(c, &cell.Axis)
		canon.Uint(c, &cell.Scope.Kind)
		c.String(&cell.Scope.Name)
	})
	canon.Uint(c, &t.Step)
	canon.Int(c, &t.Lease)
}

func uuids(c *canon.Coder, ids ...*uuid.UUID) {
	for _, id := range ids {
		c.Fixed(id[:])
	}
}
