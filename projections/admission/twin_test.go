package admission

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// twin is Admit written as plainly as the rules allow: it keeps the whole
// history, rescans it for every verdict, bounds nothing and remembers nothing.
type twin struct{ log []events.Event }

// twinAccount is an account as the history tells it.
type twinAccount struct {
	no       uint32
	epoch    events.Epoch
	settings events.Settings
	changed  events.Time
	retired  events.Ref
}

// spot is an owner and a scope in it: "host:x", "group:g" or "account:a/epoch".
type spot struct {
	owner string
	kind  events.ScopeKind
	name  string
}

type twinFact struct {
	spot
	axis    events.Axis
	kind    factKind
	at      events.Time
	step    uint32
	stated  events.Time
	guessed bool
	strict  bool
	event   int
}

type twinSuccess struct {
	spots                []spot
	dispatched, answered events.Time
	knew                 events.Position
	own                  uint64
	writer               uuid.UUID
}

type twinClaim struct {
	spot
	axis  events.Axis
	name  string
	at    events.Time
	event int
	out   bool
	reset events.Time
	names []string // models of a credit budget that it parks
	lists bool
}

type twinSlot struct {
	spot
	axis         events.Axis
	request      uuid.UUID
	attempt      uint32
	lease, ended events.Time
	rests        bool
	by           twinSuccess // what its decision knew
}

type twinPass struct {
	spot
	axis events.Axis
	by   twinSuccess
}

type twinMoney struct {
	owner  string
	at     events.Time
	billed bool
	period events.Time
	room   bool
}

type twinDesk struct {
	spot
	kind  events.Kind
	at    events.Time
	until events.Time
	event int
}

// scan is everything that a history says, flat.
type scan struct {
	t        *twin
	accounts map[string]*twinAccount
	order    []string
	policy   events.Policy // in force
	facts    []twinFact
	failures []twinFact
	contrary []struct {
		spots []spot
		at    events.Time
	}
	successes []twinSuccess
	claims    []twinClaim
	money     []twinMoney
	slots     []twinSlot
	passes    []twinPass
	releases  []struct {
		spot
		at events.Time
	}
	desk []twinDesk
}

func low(s string) string { return strings.ToLower(s) }

func (s *scan) ownAccount(id string, e events.Epoch) string {
	a := s.accounts[id]
	if e == 0 || a.epoch == 0 {
		e = a.epoch
	}
	return "account:" + id + "/" + e.String()
}

// where is the spot of evidence.
func (s *scan) where(id string, epoch events.Epoch, axis events.Axis, sc events.Scope) (spot, bool) {
	a := s.accounts[id]
	own, isOwn := s.ownAccount(id, epoch), events.ScopeAccount
	group := "group:" + a.settings.Group
	quotaAxis := axis == events.AxisWindow || axis == events.AxisCredit || axis == events.AxisPayment
	switch sc.Kind {
	case events.ScopeRequest, events.ScopeNone:
		return spot{}, false
	case events.ScopeEndpoint:
		if a.settings.Endpoint != "" {
			return spot{owner: "host:" + a.settings.Endpoint, kind: events.ScopeEndpoint}, true
		}
	case events.ScopeGroup:
		if a.settings.Group != "" {
			return spot{owner: group, kind: events.ScopeGroup}, true
		}
	case events.ScopeFamily, events.ScopeModel:
		if quotaAxis && a.settings.Group != "" {
			own = group
		}
		return spot{owner: own, kind: sc.Kind, name: low(sc.Name)}, true
	default:
		if quotaAxis && a.settings.Group != "" {
			own, isOwn = group, events.ScopeGroup
		}
	}
	return spot{owner: own, kind: isOwn}, true
}

func twinFamily(a *twinAccount, family, model string) bool {
	for _, f := range a.settings.Families {
		if low(f.Name) == family {
			return slices.ContainsFunc(f.Models, func(g string) bool { return events.Glob(low(g), model) })
		}
	}
	return slices.Contains(strings.FieldsFunc(model, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') }), family)
}

// families are all family names that any evidence may use.
var twinFamilies = []string{"big", "mini", "fable"}

func (s *scan) exercised(e *events.Event) []spot {
	a := s.accounts[e.Account]
	var out []spot
	if a.settings.Endpoint != "" {
		out = append(out, spot{owner: "host:" + a.settings.Endpoint, kind: events.ScopeEndpoint})
	}
	owners := map[string]events.ScopeKind{s.ownAccount(e.Account, e.Epoch): events.ScopeAccount}
	if a.settings.Group != "" {
		owners["group:"+a.settings.Group] = events.ScopeGroup
	}
	for o, wide := range owners {
		out = append(out, spot{owner: o, kind: wide})
		if e.Model == "" {
			continue
		}
		out = append(out, spot{owner: o, kind: events.ScopeModel, name: low(e.Model)})
		for _, f := range twinFamilies {
			if twinFamily(a, f, low(e.Model)) {
				out = append(out, spot{owner: o, kind: events.ScopeFamily, name: f})
			}
		}
	}
	return out
}

// read goes through the history once, in its order.
func (t *twin) read() *scan {
	s := &scan{t: t, accounts: map[string]*twinAccount{}, policy: events.DefaultPolicy()}
	for i := range t.log {
		s.event(i, &t.log[i])
	}
	s.mysteries()
	return s
}

func (s *scan) event(i int, e *events.Event) {
	settings := func(set *events.Settings) {
		a := s.accounts[e.Account]
		if a == nil {
			s.order = append(s.order, e.Account)
			a = &twinAccount{no: uint32(len(s.order))}
			s.accounts[e.Account] = a
		}
		a.settings, a.epoch, a.retired = *set, e.Epoch, 0
		a.changed = max(a.changed, e.ObservedAt)
	}
	switch p := e.Data.(type) {
	case *events.AccountEnrolled:
		settings(&p.Settings)
	case *events.AccountChanged:
		settings(&p.Settings)
	case *events.PolicyAdopted:
		s.policy = p.Document.Policy
	}
	if s.accounts[e.Account] == nil {
		return
	}
	switch p := e.Data.(type) {
	case *events.AccountRetired:
		s.accounts[e.Account].retired = events.RefOf(e)
	case *events.QuotaFetched:
		s.reading(i, e, &p.Reading, e.ObservedAt)
	case *events.AttemptSucceeded:
		x := twinSuccess{spots: s.exercised(e), dispatched: p.Answer.DispatchedAt, answered: p.Answer.AnsweredAt, knew: p.Knew, own: p.KnewOwn, writer: e.Writer}
		s.successes = append(s.successes, x)
		s.contrary = append(s.contrary, struct {
			spots []spot
			at    events.Time
		}{x.spots, x.answered})
		if p.Answer.Reading != nil {
			s.reading(i, e, p.Answer.Reading, p.Answer.AnsweredAt)
		}
		s.endSlots(e, p.Answer.AnsweredAt, func(*twinSlot) bool { return false })
	case *events.AttemptRouted:
		s.routed(e, p)
	case *events.TrialClaimed:
		s.claimed(e, &p.Trial, twinSuccess{knew: e.Position, own: e.WriterSeq, writer: e.Writer}, false)
	case *events.TrialPassed:
		s.passed(e, p)
	case *events.TrialClosed:
		for j := range s.slots {
			x := &s.slots[j]
			for _, c := range p.Cells {
				if w, ok := s.where(e.Account, e.Epoch, c.Axis, c.Scope); ok && w == x.spot && c.Axis == x.axis && x.request == e.Request && x.attempt == e.Attempt && x.ended == 0 {
					x.ended, x.rests = e.ObservedAt, p.End == events.TrialNeutral && e.ObservedAt < x.lease
				}
			}
		}
	case *events.OperatorReleased:
		s.released(e, p.Scope)
	case *events.OperatorParked:
		s.operator(i, e, p.Scope, p.Until)
	case *events.OperatorDrained:
		s.operator(i, e, p.Scope, 0)
	case *events.OperatorUndrained:
		s.operator(i, e, p.Scope, 0)
	}
	if f, ok := events.FailureOf(e.Data); ok {
		s.failure(i, e, f)
	}
}

func (s *scan) operator(i int, e *events.Event, sc events.Scope, until events.Time) {
	w, ok := s.where(e.Account, 0, events.AxisOperator, sc)
	if !ok || strings.HasPrefix(w.owner, "account:") && w.kind == events.ScopeAccount {
		w = spot{kind: events.ScopeAccount}
	}
	if w.owner == "" || strings.HasPrefix(w.owner, "account:") {
		w.owner = "desk:" + e.Account
	}
	s.desk = append(s.desk, twinDesk{spot: w, kind: e.Data.Kind(), at: e.ObservedAt, until: until, event: i})
}

func (s *scan) released(e *events.Event, sc events.Scope) {
	for _, axis := range []events.Axis{events.AxisHealth, events.AxisWindow} {
		if w, ok := s.where(e.Account, 0, axis, sc); ok {
			s.releases = append(s.releases, struct {
				spot
				at events.Time
			}{w, e.ObservedAt})
		}
	}
}

func (s *scan) reading(i int, e *events.Event, r *events.Reading, at events.Time) {
	inFuture := func(t events.Time) bool { return t > at && t.Sub(at) <= 400*24*time.Hour }
	for _, w := range r.Windows {
		sc := w.Scope
		where, ok := s.where(e.Account, e.Epoch, events.AxisWindow, sc)
		if !ok {
			continue
		}
		if w.Reached == events.Absent && !w.Reported {
			continue
		}
		out := w.Reached == events.Yes || w.Reached == events.Absent && w.RemainingPercent.V <= 0
		s.claims = append(s.claims, twinClaim{spot: where, axis: events.AxisWindow, name: w.Name, at: at, event: i, out: out && inFuture(w.ResetsAt), reset: w.ResetsAt})
	}
	owner, _ := s.where(e.Account, e.Epoch, events.AxisCredit, events.Scope{Kind: events.ScopeAccount})
	m := twinMoney{owner: owner.owner, at: at}
	if c := r.Credit; c != nil {
		x := twinClaim{spot: owner, axis: events.AxisCredit, name: "credit", at: at, event: i, reset: c.ResetsAt, lists: len(c.Models) > 0}
		for _, mc := range c.Models {
			if mc.Available == events.No || mc.CreditsWouldEnable == events.Yes && mc.Available != events.Yes {
				x.names = append(x.names, low(mc.Model))
			}
		}
		x.out = c.Reached == events.Yes && inFuture(c.ResetsAt) && (!x.lists || len(x.names) > 0)
		s.claims = append(s.claims, x)
		m.room = c.Available == events.Yes || c.Reached == events.No && c.Available != events.No
	}
	if b := r.Billing; b != nil {
		m.billed, m.period = true, b.PeriodEnd
	}
	if m.billed || m.room {
		s.money = append(s.money, m)
	}
}

// Slots.

func (s *scan) free(w spot, axis events.Axis, at events.Time) bool {
	for _, x := range s.slots {
		if x.spot != w || x.axis != axis {
			continue
		}
		if x.ended == 0 && at < x.lease || x.ended != 0 && x.rests && at < x.ended.Add(s.policy.TrialBackoff) {
			return false
		}
	}
	return true
}

func (s *scan) claimed(e *events.Event, t *events.Trial, by twinSuccess, always bool) {
	for _, c := range t.Cells {
		if w, ok := s.where(e.Account, e.Epoch, c.Axis, c.Scope); ok && !always && !s.free(w, c.Axis, e.ObservedAt) {
			return
		}
	}
	for _, c := range t.Cells {
		if w, ok := s.where(e.Account, e.Epoch, c.Axis, c.Scope); ok {
			s.slots = append(s.slots, twinSlot{spot: w, axis: c.Axis, request: e.Request, attempt: e.Attempt, lease: t.Lease, by: by})
		}
	}
}

func (s *scan) routed(e *events.Event, p *events.AttemptRouted) {
	if p.Trial == nil {
		return
	}
	by := twinSuccess{knew: p.Stamp.View, own: p.Stamp.Pending, writer: e.Writer}
	for _, c := range p.Trial.Cells {
		w, ok := s.where(e.Account, e.Epoch, c.Axis, c.Scope)
		if !ok {
			continue
		}
		has := false
		for j := range s.slots {
			if x := &s.slots[j]; x.spot == w && x.axis == c.Axis && x.request == e.Request && x.attempt == e.Attempt {
				x.by, has = by, true
			}
		}
		if !has && (p.Unclaimed || c.Axis == events.AxisRate || c.Axis == events.AxisHealth) {
			s.claimed(e, &events.Trial{Cells: []events.Cell{c}, Lease: p.Trial.Lease}, by, true)
		}
	}
}

func (s *scan) passed(e *events.Event, p *events.TrialPassed) {
	for _, c := range p.Cells {
		w, ok := s.where(e.Account, e.Epoch, c.Axis, c.Scope)
		if !ok {
			continue
		}
		by := twinSuccess{dispatched: p.DispatchedAt, answered: p.AnsweredAt}
		for j := range s.slots {
			if x := &s.slots[j]; x.spot == w && x.axis == c.Axis && x.request == e.Request && x.attempt == e.Attempt {
				by.knew, by.own, by.writer = x.by.knew, x.by.own, x.by.writer
				if x.ended == 0 {
					x.ended = p.AnsweredAt
				}
			}
		}
		s.passes = append(s.passes, twinPass{spot: w, axis: c.Axis, by: by})
	}
}

func (s *scan) endSlots(e *events.Event, at events.Time, rests func(*twinSlot) bool) {
	for j := range s.slots {
		if x := &s.slots[j]; x.ended == 0 && x.request == e.Request && x.attempt == e.Attempt {
			x.ended, x.rests = at, rests(x) && at < x.lease
		}
	}
}
