package routing

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// choose goes through the order of a choice for a request that is not tied.
func (d *walk) choose() {
	pick := none
	for from := 0; from < len(d.route.members) && pick == none; {
		to := d.look(from)
		pick = d.pick(from, to)
		from = to
	}
	row := d.pinned()
	switch {
	case d.keep(pick):
	case row.Course == OwnTrial && d.mayTest(d.own, pick):
		d.test(d.own)
	case d.place(pick, row):
	default:
		d.rest()
	}
	d.out.Spare = d.spare()
}

// place dispatches to the due path that comes first, to the pinned account, or
// to the one that the strategy picked.
func (d *walk) place(pick int, row PinRow) bool {
	if due := d.dueFirst(pick); due != none {
		d.test(due)
		return true
	}
	switch row.Course {
	case Own, Roomier:
		if row.Course == Roomier {
			if i := d.withRoom(); i != none {
				d.dispatch(i)
				return true
			}
		}
		d.dispatch(d.own)
		d.out.Pinned = true
		return true
	case WaitThenBorrow:
		if d.stamp.Waited < d.policy.PinWait {
			d.wait(WaitPin, d.own, d.now.Add(d.policy.PinWait-d.stamp.Waited))
			return true
		}
	}
	if pick != none {
		d.dispatch(pick)
	}
	return pick != none
}

// rest is what is left when no path is admitted: the last path, a trial in
// flight, a refusal.
func (d *walk) rest() {
	if i := d.lastPath(); i != none {
		d.test(i)
		d.out.LastPath = true
		return
	}
	if i := d.inTrial(); i != none && d.stamp.Waited < d.policy.TrialWait {
		until := d.now.Add(d.policy.TrialWait - d.stamp.Waited)
		if end := d.at(i).Verdict.SlotEnd; end > d.now {
			until = min(until, end)
		}
		d.wait(WaitTrial, i, until)
		return
	}
	d.refuse()
}

// tied is a request that only one account can serve (R14): it or a refusal.
func (d *walk) tied() {
	if len(d.route.members) == 0 {
		d.refuse()
		return
	}
	d.look(0)
	switch c := d.at(0); {
	case d.keep(none):
	case c.usable() && !d.saturated(0):
		d.dispatch(0)
	case c.Reason == events.ReasonSaturated && d.stamp.Waited < d.policy.PinWait:
		d.wait(WaitPin, 0, d.now.Add(d.policy.PinWait-d.stamp.Waited))
	case c.due() && d.mayTest(0, none):
		d.test(0)
	default:
		d.rest()
	}
}

// narrow leaves the tied account alone in the route. A request about a stored
// response names no model: the account itself is judged.
func (d *walk) narrow() {
	alone := &route{strategy: d.route.strategy, digest: d.route.digest}
	for i := range d.route.members {
		if d.route.members[i].account.No == d.stamp.Tie {
			alone.members = d.route.members[i : i+1 : i+1]
			break
		}
	}
	if roster := d.view.Admission.Roster(); alone.members == nil && int(d.stamp.Tie) <= len(roster) {
		if a := roster[d.stamp.Tie-1]; speaks(a, d.stamp.Dialect) {
			alone.add(a, d.stamp.Asked, 0)
		}
	}
	alone.gates = make([]gate, len(alone.members))
	d.route = alone
}

// spare: besides the chosen one there is a candidate that could be used, tested
// or waited for, or tried as the last path, or a tier that was not looked at. The
// answer to a trial may free whoever shares its cells.
func (d *walk) spare() bool {
	if d.looked < len(d.route.members) && len(d.stamp.Avoid) == 0 {
		return true
	}
	for i := range d.out.Candidates {
		c := d.at(i)
		if c.Account == d.out.Account || c.Reason == events.ReasonAlreadyTried || c.absent() {
			continue
		}
		if d.out.Trial != nil || c.usable() || c.due() && !d.stamp.Tested || c.Reason == events.ReasonTrialInProgress || c.Verdict.Soft {
			return true
		}
	}
	return false
}

func (d *walk) dispatch(i int) {
	c := d.at(i)
	d.out.Action, d.out.Account, d.out.Model, d.out.Weight = Dispatch, c.Account, c.Model, c.Weight
}

func (d *walk) wait(a Action, i int, until events.Time) {
	d.dispatch(i)
	d.out.Action, d.out.WaitUntil = a, until
}

// blocking lists the cells that a trial of the candidate must take.
func (d *walk) blocking(i int) (cells []events.Cell) {
	c := d.at(i)
	for _, r := range admission.Explain(d.view.Admission, admission.Path{Account: c.Account, Model: c.Model}, d.policy, d.now) {
		if r.Blocking {
			cells = append(cells, r.Cell)
		}
	}
	return cells
}
