package admission

import (
	"slices"
	"strings"

	"github.com/waybill/waybill/events"
)

// account is a row of the roster with the owners whose evidence covers it.
type account struct {
	// What a remembered verdict needs stands together.
	gen      uint64 // changes with settings, epoch and own evidence
	endpoint *owner // nil when the settings name no host
	group    *owner // nil when it shares its limits with none
	gate     gate   // of the model asked for first

	Account
	families []events.Family // settings' families in lower case
	shelves  []*shelf        // evidence by credential, the current one first
	desk     owner           // operator actions, whatever the credential
	changed  events.Time     // newest enrolment or change of settings: a reload (R12)
	retired  events.Ref
	known    map[string]*model
	gates    []gate // of other models
	next     uint8  // gate to be replaced next
}

// shelf is an account's own evidence under one credential: another credential
// starts with an empty one (R11, Precedence).
type shelf struct {
	owner
	epoch events.Epoch
}

// model is what success folds need to know of a model's name.
type model struct {
	key      key
	families []key // that the settings name for it
}

// maxKnown bounds the names remembered per account; they are only a memo.
const maxKnown = 512

func (a *account) model(name string) *model {
	if m := a.known[name]; m != nil {
		return m
	}
	low := strings.ToLower(name)
	m := &model{key: key{events.ScopeModel, low}}
	for i := range a.families {
		if anyGlob(a.families[i].Models, low) {
			m.families = append(m.families, key{events.ScopeFamily, a.families[i].Name})
		}
	}
	if a.known == nil || len(a.known) >= maxKnown {
		a.known = map[string]*model{}
	}
	a.known[strings.Clone(name)] = m
	return m
}

// shelf is where evidence of an epoch belongs. An event without one speaks of
// the current credential, and so does every event of an account without one.
func (a *account) shelf(e events.Epoch) *shelf {
	if s := a.shelves[0]; e == 0 || s.epoch == e || s.epoch == 0 {
		return s
	}
	return a.shelfOf(e)
}

// has says whether shelf would find one.
func (a *account) has(e events.Epoch) bool {
	return e == 0 || a.shelves[0].epoch == 0 || slices.ContainsFunc(a.shelves, func(s *shelf) bool { return s.epoch == e })
}

func (a *account) shelfOf(e events.Epoch) *shelf {
	for _, s := range a.shelves {
		if s.epoch == e {
			return s
		}
	}
	if len(a.shelves) >= maxShelves {
		a.shelves = a.shelves[:maxShelves-1]
	}
	s := &shelf{owner: newOwner(events.ScopeAccount, &a.gen), epoch: e}
	a.shelves = append(a.shelves, s)
	return s
}

// current makes a credential the one that is judged by.
func (a *account) current(e events.Epoch) {
	s := a.shelfOf(e)
	for i, o := range a.shelves {
		if o == s {
			copy(a.shelves[1:i+1], a.shelves[:i])
			a.shelves[0] = s
		}
	}
}

// generation is over everything that covers the account.
func (a *account) generation() uint64 {
	g := a.gen
	if a.endpoint != nil {
		g += *a.endpoint.gen
	}
	if a.group != nil {
		g += *a.group.gen
	}
	return g
}
