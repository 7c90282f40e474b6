package scenario

import (
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/routing"
)

// aChoiceKeepsTheOrder says again, plainly, what a decision may be: hard tie;
// due trial; pin; admitted by tier and strategy; last path; wait; refusal.
func aChoiceKeepsTheOrder(c *chance, r *Request, s events.Stamp, d *routing.Decision) {
	t := c.t
	chosen := slices.IndexFunc(d.Candidates, func(c routing.Candidate) bool { return c.Account == d.Account })
	fits := func(i int) bool { // could serve now
		return d.Candidates[i].Verdict.Admitted && d.Candidates[i].Reason == events.ReasonNone && !full(r, d.Candidates[i].Account)
	}
	somebody := func(ok func(i int) bool) int {
		for i := range d.Candidates {
			if ok(i) {
				return i
			}
		}
		return -1
	}
	switch d.Action {
	case routing.Dispatch, routing.Claim:
		if chosen < 0 || slices.Contains(s.Tried, d.Account) {
			t.Errorf("chose %d of %+v, tried %v", d.Account, d.Candidates, s.Tried)
			return
		}
		v := d.Candidates[chosen].Verdict
		granted := s.Claimed == d.Account && d.Trial != nil
		switch {
		case granted:
		case d.LastPath:
			if i := somebody(func(i int) bool { w := d.Candidates[i].Verdict; return w.Admitted || w.Trial && !s.Offline }); i >= 0 || !v.Soft {
				t.Errorf("last path %+v beside %d", v, i)
			}
		case d.Trial != nil:
			if !v.Trial || s.Tested {
				t.Errorf("a trial of %+v, the request has tested: %v", v, s.Tested)
			}
			if i := somebody(func(i int) bool { return fits(i) && i != chosen }); s.Last && i >= 0 {
				t.Errorf("the last attempt is a trial beside %d", i)
			}
		case !v.Admitted:
			t.Errorf("%s to %+v", d.Action, v)
		}
		plain(c, r, s, d, chosen, fits, somebody)
	case routing.Refuse:
		if i := somebody(fits); i >= 0 {
			t.Errorf("refused although %+v serves", d.Candidates[i])
		}
		due := func(i int) bool {
			w := d.Candidates[i].Verdict
			return w.Trial && d.Candidates[i].Reason == w.Reason && !s.Tested && !(s.Offline && w.Durable) && !full(r, d.Candidates[i].Account)
		}
		if i := somebody(due); i >= 0 {
			t.Errorf("refused although %+v is due", d.Candidates[i])
		}
	}
}

// plain: without a pin, a tie or a trial the first tier that has anybody
// serves, the first of it when ordered, and nobody due comes before.
func plain(c *chance, r *Request, s events.Stamp, d *routing.Decision, chosen int, fits func(int) bool, somebody func(func(int) bool) int) {
	t := c.t
	if s.Tie != 0 {
		if d.Account != s.Tie {
			t.Errorf("tied to %d, sent to %d", s.Tie, d.Account)
		}
		return
	}
	if d.Pin.Account != 0 || d.Trial != nil || d.LastPath {
		return
	}
	ordered := d.Strategy == events.StrategyOrdered
	before := func(i int) bool {
		return d.Candidates[i].Tier < d.Candidates[chosen].Tier || ordered && i < chosen && d.Candidates[i].Tier == d.Candidates[chosen].Tier
	}
	if i := somebody(func(i int) bool { return fits(i) && before(i) }); i >= 0 {
		t.Errorf("%s: %d was chosen before %d", d.Strategy, chosen, i)
	}
	if s.Tested || s.Last || s.Offline {
		return
	}
	if i := somebody(func(i int) bool {
		w := d.Candidates[i]
		return w.Verdict.Trial && w.Reason == w.Verdict.Reason && (before(i) || !ordered && w.Tier <= d.Candidates[chosen].Tier) && !full(r, w.Account)
	}); i >= 0 {
		t.Errorf("%s: %d was chosen although %+v is due", d.Strategy, chosen, d.Candidates[i])
	}
}

// full: the account has no connection free.
func full(r *Request, account uint32) bool {
	limit := r.Gateway.view.Admission.Roster()[account-1].Settings.MaxConcurrent
	return limit > 0 && r.Gateway.inFlight[account] >= limit
}

// aSlotHasOneHolder is I5: per cell at most one attempt holds a granted slot
// that has not ended, over all gateways; of rate and health cells per process.
func aSlotHasOneHolder(c *chance, r *Request, s events.Stamp, _ *routing.Decision) {
	type held struct {
		by   *Request
		cell events.Cell
		of   string
	}
	var all []held
	g := r.Gateway
	doc, _ := g.view.Admission.Document()
	for _, o := range c.w.requests {
		if o.open == nil || o.open.decision.Trial == nil {
			continue
		}
		a := g.view.Admission.Account(o.open.header.Account)
		p := admission.Path{Account: a.No, Model: o.open.header.Model}
		grant, _ := admission.AdmitHolder(g.view.Admission, p, o.ID, o.attempt, &doc.Policy, s.DecidedAt)
		if grant == nil {
			continue
		}
		for _, cell := range grant.Cells {
			of := a.ID
			switch cell.Scope.Kind {
			case events.ScopeGroup:
				of = "group " + a.Settings.Group
			case events.ScopeEndpoint:
				of = "endpoint " + a.Settings.Endpoint
			}
			all = append(all, held{o, cell, of})
		}
	}
	for i := range all {
		for j := range all[:i] {
			perProcess := all[i].cell.Axis == events.AxisRate || all[i].cell.Axis == events.AxisHealth
			if perProcess && all[i].by.Gateway != all[j].by.Gateway {
				continue
			}
			if all[i].by != all[j].by && all[i].cell == all[j].cell && all[i].of == all[j].of {
				c.t.Errorf("%s and %s both test %+v of %s", all[i].by.Name, all[j].by.Name, all[i].cell, all[i].of)
			}
		}
	}
}
