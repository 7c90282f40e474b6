package admission

import "github.com/waybill/waybill/events"

// View is the admission projection: committed state and, over it, own events
// that are not committed. It is not safe for concurrent use.
type View struct {
	roster []*Account
	byID   map[string]uint32
	doc    *events.Document
	digest events.Digest

	generation uint64
}

// New is an empty view.
func New() *View {
	doc := &events.Document{Policy: events.DefaultPolicy()}
	return &View{byID: map[string]uint32{}, doc: doc, digest: doc.Digest()}
}

// Name implements projections.Projection.
func (v *View) Name() string { return "admission" }

// Version implements projections.Projection.
func (v *View) Version() uint32 { return 1 }

// Apply folds a committed event.
func (v *View) Apply(e *events.Event) {
	v.generation++
	switch p := e.Data.(type) {
	case *events.AccountEnrolled:
		v.enrol(e, p.Settings)
	case *events.AccountChanged:
		v.enrol(e, p.Settings)
	case *events.AccountRetired:
		if n := v.byID[e.Account]; n != 0 {
			v.roster[n-1].Retired = true
		}
	case *events.PolicyAdopted:
		v.doc, v.digest = &p.Document, p.Digest
	}
}

func (v *View) enrol(e *events.Event, s events.Settings) {
	n := v.byID[e.Account]
	if n == 0 {
		n = uint32(len(v.roster) + 1)
		v.roster = append(v.roster, nil)
		v.byID[e.Account] = n
	}
	v.roster[n-1] = &Account{No: n, ID: e.Account, Epoch: e.Epoch, Settings: s}
}

// Pend folds an own event that is not committed.
func (v *View) Pend(*events.Event) { v.generation++ }

// DropPending forgets the pending layer.
func (v *View) DropPending() { v.generation++ }

// AppendState implements projections.Projection.
func (v *View) AppendState(b []byte) []byte { return b }

// LoadState implements projections.Projection.
func (v *View) LoadState([]byte) error { return nil }

// Document is the routing document in force and its digest.
func (v *View) Document() (*events.Document, events.Digest) { return v.doc, v.digest }

// Roster lists all accounts ever enrolled, by number; entry i has number i+1.
func (v *View) Roster() []*Account { return v.roster }

// Account finds an account by id, nil when it was never enrolled.
func (v *View) Account(id string) *Account {
	if n := v.byID[id]; n != 0 {
		return v.roster[n-1]
	}
	return nil
}

// Admit judges a path at an instant. It changes nothing that a later answer
// depends on (I13).
func Admit(v *View, p Path, policy *events.Policy, now events.Time) Verdict {
	return Verdict{Admitted: true}
}

// Explain lists the path's cells that have something to say, blocking ones
// first. It and Admit judge by the same code.
func Explain(v *View, p Path, policy *events.Policy, now events.Time) []CellReport { return nil }

// StatusOf is an account's row as of an instant; model may be "".
func StatusOf(v *View, p Path, policy *events.Policy, now events.Time) Status {
	return Status{Account: *v.roster[p.Account-1], Verdict: Admit(v, p, policy, now)}
}

// Granted says whether the view holds a granted, unended trial claimed by this
// attempt.
func (v *View) Granted(account uint32, request [16]byte, attempt uint32, now events.Time) bool {
	return false
}
