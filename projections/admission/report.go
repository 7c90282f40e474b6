package admission

import (
	"slices"

	"github.com/waybill/waybill/events"
)

// Explain lists the path's cells that have something to say, blocking ones
// first, the strongest first. It and Admit judge by the same code. Asked
// without a model it also lists the account's narrower cells, not blocking.
func Explain(v *View, p Path, policy *events.Policy, now events.Time) []CellReport {
	a := v.row(p.Account)
	if a == nil {
		return nil
	}
	j := &v.judge
	j.begin(v, a, p.Model, policy, now)
	j.narrow = p.Model == ""
	j.run()
	slices.SortStableFunc(j.cells, func(x, y cell) int {
		switch {
		case x.blocking() != y.blocking():
			if x.blocking() {
				return -1
			}
			return 1
		case x.stronger(&y):
			return -1
		case y.stronger(&x):
			return 1
		}
		return 0
	})
	out := make([]CellReport, 0, len(j.cells))
	for i := range j.cells {
		out = append(out, j.cells[i].report())
	}
	return out
}

func (c *cell) report() CellReport {
	r := CellReport{Cell: events.Cell{Axis: c.axis, Scope: c.key.scope()}, State: c.state.String(), Reason: c.reason,
		Blocking: c.blocking(), Since: c.since, Until: c.until, Reset: c.reset, TrialAt: c.trialAt, SlotEnd: c.slotEnd, Step: c.step,
		Evidence: slices.Clone(c.refs[:c.nrefs])}
	if c.never {
		r.TrialAt = 0
	}
	return r
}

// StatusOf is an account's row as of an instant; model may be "".
func StatusOf(v *View, p Path, policy *events.Policy, now events.Time) Status {
	a := v.row(p.Account)
	if a == nil {
		return Status{Verdict: Admit(v, p, policy, now)}
	}
	s := Status{Account: a.Account, Verdict: Admit(v, p, policy, now), Cells: Explain(v, p, policy, now)}
	j := &v.judge
	s.Streak = j.accountClock()
	own := &a.shelves[0].owner
	if l := own.top(); j.armed(l, l.at(own.wide())) > now {
		s.Override = j.armed(l, l.at(own.wide()))
	}
	for _, o := range [...]*owner{a.endpoint, a.group, own} {
		if o != nil {
			o.top().tape.report(&s, policy, now)
		}
	}
	slices.SortStableFunc(s.Windows, func(a, b WindowReport) int {
		return key{a.Scope.Kind, a.Scope.Name}.compare(key{b.Scope.Kind, b.Scope.Name})
	})
	s.Recovery = a.recovery(s.Cells)
	return s
}

// report adds the tape's windows and credit, as the provider gave them.
func (t *tape) report(s *Status, policy *events.Policy, now events.Time) {
	for i := range t.claims {
		c := &t.claims[i]
		if c.credit != nil {
			if c.at >= s.CreditAt {
				s.Credit, s.CreditAt = c.credit, c.at
			}
			continue
		}
		w := WindowReport{Window: c.window, ObservedAt: c.at, Source: c.source, Evidence: c.ref,
			Stale: now.Sub(c.at) > policy.ReadingMaxAge}
		w.Scope = orElse(w.Scope, events.ScopeAccount, "")
		s.Windows = append(s.Windows, w)
	}
}

// recovery is the kind of a payment wall, for people: paid if billing says so,
// else free (R8).
func (a *account) recovery(cells []CellReport) string {
	for i := range cells {
		if cells[i].Cell.Axis != events.AxisPayment {
			continue
		}
		o := &a.shelves[0].owner
		if a.group != nil && o.top().at(key{cells[i].Cell.Scope.Kind, cells[i].Cell.Scope.Name}) == nil {
			o = a.group
		}
		if o.top().tape.plan() == events.PlanPaid {
			return "paid"
		}
		return "free"
	}
	return ""
}
