package admission

import (
	"cmp"
	"slices"

	"github.com/waybill/waybill/events"
)

// twinState is a cell's state and everything that the verdict takes from it.
type twinState struct {
	*twinCell
	rank                         int
	reason                       events.Reason
	since, until, trial, slotEnd events.Time
	step                         uint32
	evidence                     events.Ref
	never, ready, held, ban      bool
}

func (j *judgement) state(c *twinCell) twinState {
	x := twinState{twinCell: c}
	switch {
	case c.desk != nil:
		x.rank, x.reason, x.since, x.evidence = 9, events.ReasonParkedByOperator, c.desk.at, j.ref(c.desk.event)
		x.until, x.trial, x.never = c.desk.until, c.desk.until, c.desk.until == 0
		if c.drained {
			x.reason, x.until, x.trial, x.never = events.ReasonDrained, 0, 0, true
		}
		return x
	case len(c.facts) > 0:
		j.walled(&x)
	default:
		j.told(&x)
	}
	for _, s := range j.slots {
		if s.spot != c.spot || s.axis != c.axis {
			continue
		}
		end := events.Time(0)
		switch {
		case s.ended == 0 && j.now < s.lease:
			end = s.lease
		case s.ended != 0 && s.rests && j.now < s.ended.Add(j.policy.TrialBackoff):
			end = s.ended.Add(j.policy.TrialBackoff)
		}
		if end > x.slotEnd {
			x.slotEnd, x.held = end, s.ended == 0
		}
	}
	return x
}

func (j *judgement) walled(x *twinState) {
	decider := &x.facts[0]
	for i := range x.facts {
		f := &x.facts[i]
		x.until, x.trial, x.step = max(x.until, f.until), max(x.trial, f.trial), max(x.step, f.step)
		x.ban = x.ban || f.kind == banned
		if f.trial > decider.trial || f.trial == decider.trial && f.at > decider.at {
			decider = f
		}
	}
	for _, c := range x.claims {
		x.until = max(x.until, c.reset)
	}
	x.since, x.evidence = decider.at, j.ref(decider.event)
	switch {
	case x.axis == events.AxisWindow:
		x.rank, x.reason = 6, events.ReasonWindowExhausted
	case x.axis == events.AxisPayment:
		x.rank, x.reason = 7, events.ReasonPaymentRequired
	case x.axis == events.AxisRate:
		x.rank, x.reason = 5, events.ReasonRateLimited
	case x.axis == events.AxisHealth:
		x.rank, x.reason = 4, events.ReasonCoolingDown
	case decider.kind == unsupported:
		x.rank, x.reason = 8, events.ReasonModelUnsupported
	default:
		x.rank, x.reason = 8, events.ReasonAuthFailed
	}
	x.never = x.ban
	x.ready = !x.never && j.now >= x.trial
}

func (j *judgement) told(x *twinState) {
	x.rank, x.reason = 1, events.ReasonWindowExhausted
	if x.axis == events.AxisCredit {
		x.reason = events.ReasonCreditExhausted
	}
	x.since = j.clock()
	own := spot{owner: "account:" + j.id + "/" + j.a.epoch.String(), kind: x.kind, name: x.name}
	if x.kind != events.ScopeFamily && x.kind != events.ScopeModel {
		own.kind = events.ScopeAccount
	}
	if s := j.lastEnd(own, events.AxisNone); s != 0 && x.since <= s.Add(j.policy.HealthyWindow) {
		x.since = s
	}
	type window struct{ joined, reset events.Time }
	var windows []window
	stale := true
	latest := events.Time(-1)
	for i := range x.claims {
		c := &x.claims[i]
		at, reset := j.joined(c, j.lastEnd(x.spot, x.axis))
		windows = append(windows, window{at, reset})
		stale = stale && j.now.Sub(c.at) > j.policy.ReadingMaxAge
		if c.reset > latest {
			latest, x.evidence = c.reset, j.ref(c.event)
		}
	}
	x.until = latest
	slices.SortStableFunc(windows, func(a, b window) int { return cmp.Compare(a.joined, b.joined) })
	for _, w := range windows {
		if x.trial == 0 || w.joined < x.trial {
			x.trial = max(x.trial, min(w.reset, x.since.Add(j.policy.ParkCap)))
		}
	}
	x.ready = stale || j.now >= x.trial
}

func (j *judgement) verdict() Verdict {
	var cells []twinState
	for _, c := range j.cells() {
		cells = append(cells, j.state(c))
	}
	if len(cells) == 0 {
		return Verdict{Admitted: true}
	}
	slices.SortStableFunc(cells, func(a, b twinState) int {
		if a.rank != b.rank {
			return b.rank - a.rank
		}
		if a.never != b.never {
			if a.never {
				return -1
			}
			return 1
		}
		if a.trial != b.trial {
			return cmp.Compare(b.trial, a.trial)
		}
		if a.axis != b.axis {
			return int(a.axis) - int(b.axis)
		}
		if a.kind != b.kind {
			return int(a.kind) - int(b.kind)
		}
		return cmp.Compare(a.name, b.name)
	})
	top := &cells[0]
	d := Verdict{Reason: top.reason, Axis: top.axis, Scope: top.scope(), Since: top.since, Evidence: top.evidence, Soft: true, OnClaims: true}
	open, taken, never := true, false, false
	for i := range cells {
		c := &cells[i]
		d.Until, d.TrialAt, d.SlotEnd, d.Step = max(d.Until, c.until), max(d.TrialAt, c.trial), max(d.SlotEnd, c.slotEnd), max(d.Step, c.step)
		fact := len(c.facts) > 0 || c.desk != nil
		d.OnClaims = d.OnClaims && !fact
		d.Soft = d.Soft && (!fact || c.axis == events.AxisHealth)
		d.Durable = d.Durable || slices.Contains([]events.Axis{events.AxisWindow, events.AxisCredit, events.AxisPayment, events.AxisAuth}, c.axis)
		never = never || c.never
		busy := c.held || c.slotEnd != 0 && (c.ready || !fact)
		open, taken = open && (busy || c.ready), taken || busy
	}
	if never {
		d.TrialAt = 0
	}
	if open && taken {
		d.Reason = events.ReasonTrialInProgress
	}
	d.Trial = open && !taken
	d.State = top.word()
	return d
}

func (x *twinState) word() State {
	waiting := !x.held && !(x.slotEnd != 0 && (x.ready || len(x.facts) == 0)) && !x.ready
	either := func(a, b State) State {
		if waiting {
			return a
		}
		return b
	}
	switch {
	case x.desk != nil && x.drained:
		return Drained
	case x.desk != nil:
		return Parked
	case x.ban:
		return Disabled
	case x.axis == events.AxisPayment:
		return either(WaitingReset, Probing)
	case x.axis == events.AxisRate || x.axis == events.AxisHealth:
		return either(Cooling, HalfOpen)
	}
	return either(Parked, HalfOpen)
}
