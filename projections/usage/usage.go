// Package usage folds events into sums of requests, tokens, skips and refusals
// by account, model, client or day, and prices them. Tokens belong to attempts:
// what an attempt cost counts for the account that served it, whether or not the
// request then went on to another. What an answer did not say is not zero: every
// sum of tokens knows how many answers told it. Where prices come from is not
// known here.
package usage

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/listed"
	"github.com/waybill/waybill/projections/roster"
)

// By is what the sums are grouped by.
type By uint8

// The groupings of the contract.
const (
	Account By = iota
	Model
	Client
	Day

	groupings = 4
)

var byNames = []string{"account", "model", "client", "day"}

// String is the contract's word.
func (b By) String() string { return byNames[b] }

// Groupings are the contract's words.
func Groupings() []string { return slices.Clone(byNames) }

// ParseBy reads the contract's word.
func ParseBy(s string) (By, bool) {
	i := slices.Index(byNames, s)
	return By(max(i, 0)), i >= 0
}

const (
	// maxOpen bounds the requests that are remembered between two attempts.
	maxOpen = 1 << 14
	// listsKept bounds the remembered lists of more than 16 candidates.
	listsKept = 256
)

// View is the fold, by all groupings at once. It is not safe for concurrent
// use. The sums only grow: those of a span of time are the ones at its end less
// the ones at its beginning.
type View struct {
	groups    [groupings]map[string]*group
	parts     [groupings]int // of all groups
	accounts  roster.Numbers
	providers []string // of the same accounts, as last said
	paths     []Path   // that answers came by, in the order of their first one
	byPath    map[Path]uint32
	open      map[uuid.UUID]*asked
	lists     *listed.Book
}

// asked is what outcomes of a request are grouped by.
type asked struct {
	client, model string
	at            events.Time
	touched       []uint32
	last          events.Position
}

// New is an empty view.
func New() *View {
	v := &View{paths: []Path{{Model: Other}}, byPath: map[Path]uint32{},
		open: map[uuid.UUID]*asked{}, lists: listed.New(listsKept)}
	for by := range v.groups {
		v.groups[by] = map[string]*group{}
	}
	return v
}

// Name implements projections.Projection.
func (v *View) Name() string { return "usage" }

// Version implements projections.Projection.
func (v *View) Version() uint32 { return 4 }

// Apply folds a committed event.
func (v *View) Apply(e *events.Event) {
	switch p := e.Data.(type) {
	case *events.AccountEnrolled:
		v.enrolled(e.Account, p.Provider)
	case *events.AccountChanged:
		v.enrolled(e.Account, p.Provider)
	case *events.CandidatesListed:
		v.lists.Add(e, p.Verdicts)
	case *events.AttemptRouted:
		v.routed(e, p)
	case *events.RequestRefused:
		v.refused(e, p)
	case *events.AttemptSucceeded:
		v.served(e, p)
	case *events.RequestEnded:
		delete(v.open, e.Request)
	default:
		if f, ok := events.FailureOf(e.Data); ok {
			v.failed(e, f)
		}
	}
}

func (v *View) enrolled(account, provider string) {
	no, fresh := v.accounts.Enrol(account)
	if fresh {
		v.providers = append(v.providers, provider)
	}
	v.providers[no-1] = provider
}

func (v *View) routed(e *events.Event, p *events.AttemptRouted) {
	a := v.open[e.Request]
	first := a == nil
	if first {
		a = &asked{client: p.Stamp.Client, model: p.Stamp.Asked, at: p.Stamp.DecidedAt}
		v.open[e.Request] = a
		v.bound()
	}
	a.last = e.Position
	for by := range By(groupings) {
		g := v.group(by, a, p.Chosen)
		g.Attempts++
		if first || by == Account && !slices.Contains(a.touched, p.Chosen) {
			g.Requests++
		}
	}
	a.touched = append(a.touched, p.Chosen)
	v.skips(a, v.lists.Whole(e, p.Skipped, p.Listed), p.Chosen)
}

// bound forgets the requests that were left between two attempts long ago.
func (v *View) bound() {
	if len(v.open) <= maxOpen {
		return
	}
	for _, o := range v.inOrder()[:maxOpen/4] {
		delete(v.open, o.id)
	}
}

func (v *View) refused(e *events.Event, p *events.RequestRefused) {
	a := v.open[e.Request]
	known := a != nil
	if !known {
		a = &asked{client: p.Stamp.Client, model: p.Stamp.Asked, at: p.Stamp.DecidedAt}
	}
	delete(v.open, e.Request)
	all := v.lists.Whole(e, p.Verdicts, p.Listed)
	v.skips(a, all, 0)
	for i := range all {
		v.group(Account, a, all[i].Account).Refusals++
	}
	for _, by := range []By{Model, Client, Day} {
		g := v.group(by, a, 0)
		g.Refusals++
		if !known {
			g.Requests++
		}
	}
}

// skips counts the accounts that a decision kept out.
func (v *View) skips(a *asked, list []events.Verdict, chosen uint32) {
	n := int64(0)
	for i := range list {
		if list[i].Account != chosen && list[i].Reason.Skips() {
			v.group(Account, a, list[i].Account).Skips++
			n++
		}
	}
	if n == 0 {
		return
	}
	for _, by := range []By{Model, Client, Day} {
		v.group(by, a, 0).Skips += n
	}
}

func (v *View) served(e *events.Event, p *events.AttemptSucceeded) {
	unknown := func(p *part) { p.unknown++ }
	if p.Answer.Free {
		unknown = nil
	}
	v.answered(e, func(g *group) { g.Served++ }, unknown, p.Answer.Usage)
	delete(v.open, e.Request)
}

func (v *View) failed(e *events.Event, f *events.Failure) {
	billed := func(p *part) { p.billed++ }
	if !PossiblyBilled(f) {
		billed = nil
	}
	v.answered(e, func(g *group) { g.Failed++ }, billed, f.Answer.Usage)
	if !f.Followed.GoesOn() {
		delete(v.open, e.Request)
	}
}

// answered counts an outcome in all groupings: silent is what becomes of one
// that told no tokens, nil when that means nothing.
func (v *View) answered(e *events.Event, count func(*group), silent func(*part), u *events.Usage) {
	a := v.open[e.Request]
	if a == nil {
		a = &asked{at: e.ObservedAt}
	}
	a.last = e.Position
	no, at, tells := v.accounts.Of(e.Account), uint32(0), u != nil || silent != nil
	if tells {
		at = v.path(no, e.Model)
	}
	for by := range By(groupings) {
		g := v.group(by, a, no)
		if count(g); !tells {
			continue
		}
		if p := v.part(by, g, at); u != nil {
			p.told(u)
		} else {
			silent(p)
		}
	}
}

// PossiblyBilled says that the upstream may have worked on a request that it was sent
// and whose cost it did not get to tell. A host that was not reached did not;
// an answer with an error status says that nothing was served.
func PossiblyBilled(f *events.Failure) bool {
	if f.Answer.Usage != nil || f.Answer.Free {
		return false
	}
	switch f.Class {
	case events.ClassTimeout, events.ClassMalformed, events.ClassClientAborted, events.ClassLost:
		return true
	case events.ClassNetwork:
		return f.Scope.Kind != events.ScopeEndpoint
	}
	return false
}
