package admission

import (
	"github.com/waybill/waybill/events"
)

// View is the admission projection: committed state and, over it, own events
// that are not committed. It is not safe for concurrent use, not even for
// Admit, which keeps memos. Settings, epochs and the document take effect when
// they are committed.
type View struct {
	roster    []*Account
	accounts  []*account // entry i is roster entry i
	byID      map[string]*account
	endpoints map[string]*owner
	groups    map[string]*owner
	doc       *events.Document
	digest    events.Digest
	mysteries mysteries

	touched    []*owner // with a pending layer
	generation uint64   // of roster and document
	loads      uint64   // states loaded
	judge      judge    // scratch
}

// New is an empty view.
func New() *View {
	doc := &events.Document{Policy: events.DefaultPolicy()}
	return &View{byID: map[string]*account{}, endpoints: map[string]*owner{}, groups: map[string]*owner{},
		doc: doc, digest: doc.Digest()}
}

// Name implements projections.Projection.
func (v *View) Name() string { return "admission" }

// Version implements projections.Projection.
func (v *View) Version() uint32 { return 3 }

// Apply folds a committed event. Its cost does not depend on how many accounts
// there are.
func (v *View) Apply(e *events.Event) {
	switch p := e.Data.(type) {
	case *events.AccountEnrolled:
		v.enrol(e, &p.Settings)
		return
	case *events.AccountChanged:
		v.enrol(e, &p.Settings)
		return
	case *events.AccountRetired:
		if a := v.byID[e.Account]; a != nil {
			a.Retired, a.retired = true, events.RefOf(e)
			v.publish(a)
		}
		return
	case *events.PolicyAdopted:
		doc := p.Document
		v.doc, v.digest = &doc, p.Digest
		v.generation++
		return
	}
	v.fold(e, false)
}

// Pend folds an own event that is not committed. Only the owners that it
// touches are copied, once until they are dropped.
func (v *View) Pend(e *events.Event) { v.fold(e, true) }

func (v *View) fold(e *events.Event, pending bool) {
	if e.Account == "" {
		return
	}
	if a := v.byID[e.Account]; a != nil {
		f := fold{v: v, e: e, a: a, ref: events.RefOf(e), pending: pending}
		f.event()
	}
}

// DropPending forgets the pending layer.
func (v *View) DropPending() {
	for i, o := range v.touched {
		o.over = nil
		*o.gen++
		v.touched[i] = nil
	}
	v.touched = v.touched[:0]
	v.mysteries.drop()
}

func (v *View) enrol(e *events.Event, s *events.Settings) {
	a := v.byID[e.Account]
	if a == nil {
		a = &account{Account: Account{No: uint32(len(v.roster) + 1), ID: e.Account}}
		a.desk = newOwner(events.ScopeAccount, &a.gen)
		a.shelves = []*shelf{{owner: newOwner(events.ScopeAccount, &a.gen), epoch: e.Epoch}}
		v.accounts = append(v.accounts, a)
		v.roster = append(v.roster, nil)
		v.byID[e.Account] = a
	}
	a.Account = Account{No: a.No, ID: a.ID, Epoch: e.Epoch, Settings: *s}
	if e.Epoch != 0 {
		a.current(e.Epoch)
	}
	a.retired, a.changed = 0, max(a.changed, e.ObservedAt)
	v.settle(a)
	v.publish(a)
}

// publish replaces the account's row.
func (v *View) publish(a *account) {
	row := a.Account
	v.roster[a.No-1] = &row
	a.gen++
	v.generation++
}

// settle derives from the settings what folds and verdicts need.
func (v *View) settle(a *account) {
	a.families, a.known = lowered(a.Settings.Families), nil
	a.endpoint = sharedOwner(v.endpoints, a.Settings.Endpoint, events.ScopeEndpoint)
	a.group = sharedOwner(v.groups, a.Settings.Group, events.ScopeGroup)
	a.gen += 1 << 32 // other owners from here on: no sum of their counts may look like a former one
}

func sharedOwner(all map[string]*owner, name string, kind events.ScopeKind) *owner {
	if name == "" {
		return nil
	}
	if all[name] == nil {
		o := newOwner(kind, new(uint64))
		all[name] = &o
	}
	return all[name]
}

// Document is the routing document in force and its digest.
func (v *View) Document() (*events.Document, events.Digest) { return v.doc, v.digest }

// Roster lists all accounts ever enrolled, by number; entry i has number i+1.
// An entry is never changed, it is replaced.
func (v *View) Roster() []*Account { return v.roster }

// Account finds an account by id, nil when it was never enrolled.
func (v *View) Account(id string) *Account {
	if a := v.byID[id]; a != nil {
		return v.roster[a.No-1]
	}
	return nil
}

func (v *View) row(no uint32) *account {
	if no == 0 || int(no) > len(v.accounts) {
		return nil
	}
	return v.accounts[no-1]
}
