package routing

import (
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// mayTest says whether this request may test the candidate: at most one trial
// per request, never with the last attempt while another candidate is
// admitted, and no claim while the ledger cannot be reached.
func (d *walk) mayTest(i, pick int) bool {
	other := pick != none || d.own != none && d.own != i && d.at(d.own).usable()
	return d.at(i).due() && !d.stamp.Tested && !(d.stamp.Last && other) &&
		!(d.stamp.Offline && d.at(i).Verdict.Durable) && !d.saturated(i)
}

// dueFirst is the due path that this request tests before anything else: the
// earliest trial_at of those that the strategy would not place after the
// admitted one. A pinned session tests another account only when that one has
// been due for a whole park_cap, or when it has nowhere else to go.
func (d *walk) dueFirst(pick int) int {
	settled := d.own != none && (pick != none || d.at(d.own).usable())
	best := none
	for i := range d.before(pick) {
		c := d.at(i)
		if !c.due() || settled && c.Verdict.TrialAt.Add(d.policy.ParkCap) > d.now {
			continue
		}
		if (best == none || c.Verdict.TrialAt < d.at(best).Verdict.TrialAt) && d.mayTest(i, pick) {
			best = i
		}
	}
	return best
}

// before is the number of candidates that the strategy would not place after
// the picked one.
func (d *walk) before(pick int) int {
	if pick != none && d.route.strategy == events.StrategyOrdered {
		return pick
	}
	return d.looked
}

// test takes the candidate's slot: by a durable claim, or by the dispatch
// itself where its cells are of rate and health alone.
func (d *walk) test(i int) {
	c := d.at(i)
	d.dispatch(i)
	if d.stamp.Offline && c.Verdict.Durable {
		d.out.Unclaimed = true
		return
	}
	lease := max(d.policy.TrialLease, d.policy.LeastLease())
	d.out.Trial = &events.Trial{Cells: d.blocking(i), Step: c.Verdict.Step + 1, Lease: d.now.Add(lease)}
	if c.Verdict.Durable {
		d.out.Action = Claim
	}
}

// keep dispatches the path whose slot this very attempt was granted, if it is
// still due, or still the last path.
func (d *walk) keep(pick int) bool {
	if d.held == none {
		return false
	}
	due := d.free.Trial || d.free.Admitted
	last := !due && pick == none && d.free.Soft && !d.othersServe()
	if !due && !last {
		return false
	}
	d.dispatch(d.held)
	d.out.Trial, d.out.LastPath = d.grant, last
	return true
}

// lastPath is R16: the path with the earliest trial_at of those that are kept
// out by claims or by health alone.
func (d *walk) lastPath() int {
	if d.othersServe() {
		return none
	}
	best := none
	for i := range d.out.Candidates {
		if d.lastable(i) && (best == none || d.sooner(i, best)) && !d.saturated(i) {
			best = i
		}
	}
	return best
}

// othersServe: some path is admitted, due, or only waiting for a connection.
// What this request has tried counts too: a path that failed it may well serve
// the next one.
func (d *walk) othersServe() bool {
	return slices.ContainsFunc(d.out.Candidates, func(c Candidate) bool {
		return !c.absent() && (c.Verdict.Admitted || c.Verdict.Trial && !(d.stamp.Offline && c.Verdict.Durable))
	})
}

func (d *walk) lastable(i int) bool {
	c := d.at(i)
	if !c.Verdict.Soft || c.Reason != c.Verdict.Reason || c.Verdict.SlotEnd > d.now {
		return false // hard, tried, or a slot that it would need is taken
	}
	if d.stamp.Offline && c.Verdict.Durable && d.stamp.Unclaimed != 0 && d.now < d.stamp.Unclaimed.Add(d.policy.TrialBackoff) {
		return false
	}
	return d.policy.WhenExhausted != events.WhenExhaustedRefuse || !slices.ContainsFunc(d.blocking(i), claimed)
}

func claimed(c events.Cell) bool { return c.Axis == events.AxisWindow || c.Axis == events.AxisCredit }

func (d *walk) sooner(i, j int) bool {
	a, b := d.at(i), d.at(j)
	if a.Verdict.TrialAt != b.Verdict.TrialAt {
		return a.Verdict.TrialAt < b.Verdict.TrialAt
	}
	if i == d.own || j == d.own {
		return i == d.own
	}
	return d.member(i).account.ID < d.member(j).account.ID
}

// inTrial is a candidate whose slot is taken, not one whose slot rests.
func (d *walk) inTrial() int {
	return slices.IndexFunc(d.out.Candidates, func(c Candidate) bool {
		return c.Reason == events.ReasonTrialInProgress && slices.ContainsFunc(
			admission.Explain(d.view.Admission, admission.Path{Account: c.Account, Model: c.Model}, d.policy, d.now),
			func(r admission.CellReport) bool { return r.Blocking && r.State == "trying" })
	})
}
