package routing

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// Course is what a pinned session's request does.
type Course uint8

// The courses of R14.
const (
	Elsewhere      Course = iota // another account, as strategy has it; without a pin too
	Own                          // its own account
	OwnTrial                     // its own account, as the trial; else elsewhere
	Roomier                      // an admitted account with room, else its own
	WaitThenBorrow               // waits pin_wait for a connection, then elsewhere
)

// PinRow is one row of R14: why the pinned account does not serve plainly,
// what this request does, and whether a success elsewhere moves the pin.
type PinRow struct {
	Why    string
	Course Course
	Moves  bool
	when   func(p *plight) bool
}

// plight is how the pinned account stands for this request.
type plight struct {
	verdict   *admission.Verdict // nil: no candidate of the route any more
	tried     bool
	saturated bool
	spent     bool // its last answer was a 200 whose headers show exhaustion
	policy    *events.Policy
	now       events.Time
}

// pinRows is the table of R14, its last two rows apart: "nobody else admitted"
// is what rest does, a hard tie what tied does. The first row that applies counts.
var pinRows = [...]PinRow{
	{"not in the route any more, or not here", Elsewhere, true, func(p *plight) bool { return p.verdict == nil }},
	{"due, slot free", OwnTrial, false, func(p *plight) bool { return p.verdict.Trial }},
	{"slot of a quota or auth cell taken or resting", Elsewhere, true, func(p *plight) bool { return p.inTrial() && p.lasting() }},
	{"slot taken or resting", Elsewhere, false, func(p *plight) bool { return p.inTrial() }},
	{"model unsupported", Elsewhere, false, func(p *plight) bool { return p.verdict.Reason == events.ReasonModelUnsupported }},
	{"quota, payment, auth or operator", Elsewhere, true, func(p *plight) bool { return lastingReason[p.verdict.Reason] }},
	{"burst or cooldown, short", Elsewhere, false, func(p *plight) bool { return p.cooling() && !p.long() }},
	{"burst or cooldown, long", Elsewhere, true, func(p *plight) bool { return p.cooling() }},
	{"failed this request", Elsewhere, false, func(p *plight) bool { return p.tried }},
	{"saturated", WaitThenBorrow, false, func(p *plight) bool { return p.saturated }},
	{"spent by its own last answer", Roomier, true, func(p *plight) bool { return p.spent }},
	{"serves", Own, false, func(*plight) bool { return true }},
}

var lastingReason = [...]bool{
	events.ReasonWindowExhausted:  true,
	events.ReasonCreditExhausted:  true,
	events.ReasonPaymentRequired:  true,
	events.ReasonAuthFailed:       true,
	events.ReasonDrained:          true,
	events.ReasonParkedByOperator: true,
	events.ReasonAlreadyTried:     false,
}

func (p *plight) inTrial() bool { return p.verdict.Reason == events.ReasonTrialInProgress }

func (p *plight) lasting() bool {
	switch p.verdict.Axis {
	case events.AxisWindow, events.AxisCredit, events.AxisPayment, events.AxisAuth:
		return true
	}
	return false
}

func (p *plight) cooling() bool {
	return p.verdict.Reason == events.ReasonRateLimited || p.verdict.Reason == events.ReasonCoolingDown
}

func (p *plight) long() bool { return p.verdict.TrialAt.Sub(p.now) > p.policy.RateLimitPark }

// rowOf finds the row that applies. An account that has failed this request
// is not asked again by it, whatever its row would have it do.
func rowOf(p *plight) PinRow {
	for i := range pinRows {
		if pinRows[i].when(p) {
			row := pinRows[i]
			if p.tried {
				row.Course = Elsewhere
			}
			return row
		}
	}
	return PinRow{}
}

// Tie is how the session's pin stood when a decision was made.
type Tie struct {
	Account uint32 // 0: the session had no pin
	Why     string // row of R14
	Moves   bool   // a success elsewhere moves it
	Reason  events.Reason
}

// pinned finds the pinned account, judges it wherever its tier is, and says
// which row of R14 applies.
func (d *walk) pinned() PinRow {
	if d.stamp.Session.IsZero() {
		return PinRow{}
	}
	pin, ok := d.view.Pins.Of(d.stamp.Session, d.route.digest, d.policy, d.now)
	if !ok {
		return PinRow{}
	}
	p := plight{policy: d.policy, now: d.now}
	d.out.Pin.Account = pin.Account
	if d.own = d.find(pin.Account); d.own != none {
		c := d.at(d.own)
		p.tried = c.Reason == events.ReasonAlreadyTried
		p.saturated = c.usable() && d.saturated(d.own) || c.Reason == events.ReasonSaturated
		if !c.absent() {
			p.verdict, p.spent = c.Verdict, d.spent(d.own)
		}
		d.out.Pin.Reason = c.Verdict.Reason
	}
	row := rowOf(&p)
	d.out.Pin.Why, d.out.Pin.Moves = row.Why, row.Moves
	return row
}

// find looks for an account among the candidates, and beyond the tiers looked
// at.
func (d *walk) find(account uint32) int {
	for i := range d.route.members {
		if d.route.members[i].account.No != account {
			continue
		}
		if i >= d.looked {
			d.see(i)
			d.extra, d.beyond = len(d.out.Candidates)-1, i
			return d.extra
		}
		return i
	}
	return none
}

// spent: a fresh reading that stood in an answer says that the path is
// exhausted, though it is admitted.
func (d *walk) spent(i int) bool {
	for _, r := range d.rooms(i) {
		if r.Exhausted && r.InBand && d.now.Sub(r.ObservedAt) <= d.policy.ReadingMaxAge {
			return true
		}
	}
	return false
}

// withRoom is the best admitted candidate of the tiers looked at that has room.
func (d *walk) withRoom() int {
	for from := 0; from < d.looked; {
		to := from + 1
		for to < d.looked && d.at(to).Tier == d.at(from).Tier {
			to++
		}
		for {
			i := d.balanced(from, to, roomy)
			if i == none {
				break
			}
			if !d.saturated(i) {
				return i
			}
		}
		from = to
	}
	return none
}
