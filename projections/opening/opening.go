// Package opening folds what a gateway must know of the past when it starts,
// beyond the views that it decides on: which trials were claimed for attempts
// that were never routed, and whether a routing document was ever adopted. It
// judges nothing.
package opening

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/canon"
)

// maxClaims bounds the claims that are remembered; beyond it the oldest are
// forgotten: their leases end them.
const maxClaims = 4096

// Claim is a trial that was claimed and neither used nor closed.
type Claim struct {
	Position events.Position
	Account  string
	Epoch    events.Epoch
	Model    string
	Request  uuid.UUID
	Attempt  uint32
	Cells    []events.Cell
}

type key struct {
	request uuid.UUID
	attempt uint32
}

// View is the fold. It is not safe for concurrent use.
type View struct {
	adopted bool
	claims  map[key]Claim
}

// New is an empty view.
func New() *View { return &View{claims: map[key]Claim{}} }

// Name implements projections.Projection.
func (v *View) Name() string { return "opening" }

// Version implements projections.Projection.
func (v *View) Version() uint32 { return 1 }

// Adopted says whether any routing document was ever adopted.
func (v *View) Adopted() bool { return v.adopted }

// Claims lists what is claimed and not ended, oldest first.
func (v *View) Claims() []Claim {
	out := make([]Claim, 0, len(v.claims))
	for _, c := range v.claims {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Claim) int { return cmp.Compare(a.Position, b.Position) })
	return out
}

// Apply folds a committed event.
func (v *View) Apply(e *events.Event) {
	k := key{e.Request, e.Attempt}
	switch p := e.Data.(type) {
	case *events.PolicyAdopted:
		v.adopted = true
	case *events.TrialClaimed:
		v.claims[k] = Claim{Position: e.Position, Account: e.Account, Epoch: e.Epoch, Model: e.Model,
			Request: e.Request, Attempt: e.Attempt, Cells: slices.Clone(p.Trial.Cells)}
		v.bound()
	case *events.TrialClosed, *events.AttemptRouted:
		delete(v.claims, k)
	}
}

func (v *View) bound() {
	if len(v.claims) <= maxClaims {
		return
	}
	for _, c := range v.Claims()[:maxClaims/4] {
		delete(v.claims, key{c.Request, c.Attempt})
	}
}

// AppendState implements projections.Projection.
func (v *View) AppendState(b []byte) []byte {
	c := canon.Writer(b)
	list := v.Claims()
	v.state(c, &list)
	return c.Bytes()
}

// LoadState implements projections.Projection.
func (v *View) LoadState(b []byte) error {
	fresh, c := New(), canon.Reader(b)
	var list []Claim
	fresh.state(c, &list)
	if err := c.Close(); err != nil {
		return err
	}
	for _, x := range list {
		fresh.claims[key{x.Request, x.Attempt}] = x
	}
	*v = *fresh
	return nil
}

func (v *View) state(c *canon.Coder, list *[]Claim) {
	c.Bool(&v.adopted)
	canon.Slice(c, list, func(c *canon.Coder, x *Claim) {
		canon.Uint(c, &x.Position)
		c.String(&x.Account)
		canon.Uint(c, &x.Epoch)
		c.String(&x.Model)
		c.Fixed(x.Request[:])
		canon.Uint(c, &x.Attempt)
		canon.Slice(c, &x.Cells, func(c *canon.Coder, cell *events.Cell) {
			canon.Uint(c, &cell.Axis)
			canon.Uint(c, &cell.Scope.Kind)
			c.String(&cell.Scope.Name)
		})
	})
}
