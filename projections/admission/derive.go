package admission

import "github.com/waybill/waybill/events"

// derive turns what a cell holds into its state and instants.
func (j *judge) derive(c *cell) {
	if c.axis == events.AxisOperator {
		c.state = isWalled
		return
	}
	stale := false
	c.reset = max(c.reset, c.claims.until)
	switch {
	case c.walled:
		c.until = max(c.until, c.claims.until)
		c.state = isWalled
	case c.told:
		clock := j.clockOf(c)
		c.until, c.trialAt = c.claims.until, c.claims.trialAt(clock.Add(j.policy.ParkCap))
		c.since, c.state = clock, isTold
		c.evidence(c.claims.ref, true)
		stale = !c.claims.fresh
	default:
		return
	}
	if c.told && c.walled {
		c.evidence(c.claims.ref, false)
	}
	j.slots(c, stale)
}

// slots derives DUE, TRYING and RESTING.
func (j *judge) slots(c *cell, stale bool) {
	j.change(c.trialAt)
	if c.place != nil {
		c.slotEnd, c.held = c.place.busy(c.axis, j.now, j.policy, j.holder)
		j.change(c.slotEnd)
	}
	if twin := j.twin(c); twin != nil {
		if end, held := twin.busy(c.axis, j.now, j.policy, j.holder); end > c.slotEnd {
			c.slotEnd, c.held = end, held
			j.change(end)
		}
	}
	ready := !c.never && (j.now >= c.trialAt || stale)
	switch {
	case c.held:
		c.state = isTrying
	case c.slotEnd != 0 && (!c.walled || ready):
		c.state = isResting
	case ready:
		c.state = isDue
	}
}

// twin is the place that a claim of the cell takes as well: a family's or a
// model's name does not say whether the account's own evidence is meant or the
// group's, so a claim of it needs both slots.
func (j *judge) twin(c *cell) *place {
	if j.a.group == nil || c.key.wide() || !shared(c.axis) {
		return nil
	}
	if c.owner == j.a.group {
		return j.a.shelves[0].top().at(c.key)
	}
	return j.a.group.top().at(c.key)
}

// clockOf is the start that a cell's cap counts from (R2): the account's
// clock, or a success of this account in the scope, which counts as its start
// as long as the claims began before its override ended.
func (j *judge) clockOf(c *cell) events.Time {
	if j.clock == 0 {
		j.clock = j.accountClock()
	}
	start := j.a.served(c.key)
	if start != 0 && j.clock <= start.Add(j.policy.HealthyWindow) {
		return start
	}
	return j.clock
}

// served is the newest success of the account itself in a scope, or an
// operator's release.
func (a *account) served(k key) events.Time {
	own := a.shelves[0].top()
	if k.wide() {
		k = a.shelves[0].wide()
	}
	p := own.at(k)
	start := max(p.newestSuccess(), own.releasedAt(p))
	if p == nil && k.kind == events.ScopeFamily { // heard of by the group only
		for _, p := range own.places {
			if p.key.kind == events.ScopeModel && a.inFamily(k.name, p.key.name) {
				start = max(start, p.newestSuccess())
			}
		}
	}
	return start
}

// accountClock is the start of the unbroken time in which some claim has been
// exhausted for the account, on whatever axis, scope or window.
func (j *judge) accountClock() events.Time {
	j.spans = j.spans[:0]
	for _, o := range [...]*owner{j.a.endpoint, j.a.group, &j.a.shelves[0].owner} {
		if o != nil {
			j.spans = o.top().tape.spans(j.spans)
		}
	}
	start := events.Time(0)
	for _, s := range j.spans {
		if s.end == 0 && (start == 0 || s.start < start) {
			start = s.start
		}
	}
	for again := start != 0; again; {
		again = false
		for _, s := range j.spans {
			if s.start < start && s.end >= start {
				start, again = s.start, true
			}
		}
	}
	return start
}

// blocking says that the cell keeps the path out.
func (c *cell) blocking() bool { return c.covers && c.state != isClear }

// stronger orders cells for the reason shown.
func (c *cell) stronger(o *cell) bool {
	switch {
	case c.rank != o.rank:
		return c.rank > o.rank
	case c.never != o.never:
		return c.never
	case c.trialAt != o.trialAt:
		return c.trialAt > o.trialAt
	case c.axis != o.axis:
		return c.axis < o.axis
	}
	return c.key.compare(o.key) < 0
}

// verdict adds the blocking cells up.
func (j *judge) verdict() Verdict {
	d := Verdict{Valid: j.valid, Soft: true, OnClaims: true}
	var first *cell
	open, taken, never := true, false, false
	for i := range j.cells {
		c := &j.cells[i]
		if !c.blocking() {
			continue
		}
		if first == nil || c.stronger(first) {
			first = c
		}
		c.add(&d)
		never = never || c.never
		open = open && (c.state == isDue || c.state == isTrying || c.state == isResting)
		taken = taken || c.state == isTrying || c.state == isResting
	}
	if first == nil {
		return Verdict{Admitted: true, Valid: j.valid}
	}
	if never {
		d.TrialAt = 0
	}
	d.Reason, d.Axis, d.Scope, d.Evidence = first.reason, first.axis, first.key.scope(), first.refs[0]
	d.Since, d.State = first.since, first.summary()
	switch {
	case open && taken:
		d.Reason = events.ReasonTrialInProgress
	case open:
		d.Trial = true
	}
	return d
}

// add folds a blocking cell into the verdict's maxima.
func (c *cell) add(d *Verdict) {
	d.Until, d.TrialAt, d.SlotEnd = max(d.Until, c.until), max(d.TrialAt, c.trialAt), max(d.SlotEnd, c.slotEnd)
	d.Step = max(d.Step, c.step)
	claims := !c.walled
	d.OnClaims = d.OnClaims && claims
	d.Soft = d.Soft && (claims || c.axis == events.AxisHealth)
	switch c.axis {
	case events.AxisWindow, events.AxisCredit, events.AxisPayment, events.AxisAuth:
		d.Durable = true
	}
}

// summary is the contract's word for the cell.
func (c *cell) summary() State {
	waiting := c.state == isTold || c.state == isWalled
	pick := func(before, after State) State {
		if waiting {
			return before
		}
		return after
	}
	switch c.axis {
	case events.AxisOperator:
		if c.reason == events.ReasonDrained {
			return Drained
		}
		return Parked
	case events.AxisPayment:
		return pick(WaitingReset, Probing)
	case events.AxisRate, events.AxisHealth:
		return pick(Cooling, HalfOpen)
	}
	if c.banned {
		return Disabled
	}
	return pick(Parked, HalfOpen)
}
