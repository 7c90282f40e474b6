package admission

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// judgement is one path under the twin's eyes.
type judgement struct {
	*scan
	id     string
	a      *twinAccount
	model  string
	policy *events.Policy
	now    events.Time
}

type twinCell struct {
	spot
	axis    events.Axis
	facts   []twinStanding
	claims  []twinClaim // exhausted, newest reading of each, not ended, not muted
	desk    *twinDesk
	drained bool
}

type twinStanding struct {
	twinFact
	until, trial events.Time
}

// admit is the verdict by the rules, recomputed from the first event.
func (t *twin) admit(id, model string, policy *events.Policy, now events.Time) Verdict {
	s := t.read()
	a := s.accounts[id]
	if a.retired != 0 {
		return Verdict{Reason: events.ReasonDrained, Axis: events.AxisOperator, Scope: events.Scope{Kind: events.ScopeAccount}, State: Drained, Evidence: a.retired}
	}
	j := &judgement{scan: s, id: id, a: a, model: low(model), policy: policy, now: now}
	return j.verdict()
}

func (j *judgement) covers(w spot) bool {
	switch w.owner {
	case "host:" + j.a.settings.Endpoint, "group:" + j.a.settings.Group, "account:" + j.id + "/" + j.a.epoch.String(), "desk:" + j.id:
	default:
		return false
	}
	switch w.kind {
	case events.ScopeModel:
		return j.model != "" && w.name == j.model
	case events.ScopeFamily:
		return j.model != "" && twinFamily(j.a, w.name, j.model)
	}
	return true
}

func (j *judgement) ref(event int) events.Ref { return events.RefOf(&j.t.log[event]) }

func (j *judgement) knows(s *twinSuccess, event int) bool {
	e := &j.t.log[event]
	return e.Position <= s.knew || e.Writer == s.writer && e.WriterSeq <= s.own
}

func (j *judgement) releasedAt(w spot) events.Time {
	t := events.Time(0)
	for _, r := range j.releases {
		if r.owner == w.owner && (r.spot == w || r.kind == events.ScopeAccount || r.kind == events.ScopeGroup || r.kind == events.ScopeEndpoint) {
			t = max(t, r.at)
		}
	}
	return t
}

// ended says whether a fact has been ended.
func (j *judgement) ended(f *twinFact, axis events.Axis) bool {
	if f.at <= j.releasedAt(f.spot) {
		return true
	}
	if f.kind == banned {
		return false
	}
	ends := func(s *twinSuccess) bool {
		return s.dispatched > f.at.Add(j.policy.ClockSkew) || j.knows(s, f.event)
	}
	for i := range j.successes {
		if s := &j.successes[i]; slices.Contains(s.spots, f.spot) && ends(s) {
			return true
		}
	}
	for i := range j.passes {
		if p := &j.passes[i]; p.spot == f.spot && p.axis == axis && ends(&p.by) {
			return true
		}
	}
	return false
}

func power(d time.Duration, step uint32, limit time.Duration) time.Duration {
	for ; step > 1 && d < limit; step-- {
		d *= 2
	}
	return min(d, limit)
}

// due is until and trial_at of a fact.
func (j *judgement) due(f *twinFact) (until, trial events.Time) {
	p := j.policy
	switch {
	case f.axis == events.AxisHealth:
		limit := 2 * time.Minute
		if f.strict {
			limit = p.ParkCap
		}
		trial = f.at.Add(power(5*time.Second, f.step, limit))
		return max(trial, f.stated), trial
	case f.kind == quota:
		wait := f.at.Add(power(p.RateLimitPark, f.step, p.ParkCap))
		until = wait
		if f.stated != 0 && !f.guessed {
			until = max(f.stated, f.at.Add(time.Second))
		} else if r := j.shownThen(f); r != 0 {
			until = r
		}
		return until, min(until, wait)
	case f.kind == payment:
		until = f.at.Add(p.PaymentRecovery)
		if f.stated > f.at && !f.guessed {
			until = f.stated
		}
		if b := j.billedThen(f); b > f.at {
			until = b
		}
		if f.step > 1 {
			return until, min(until, f.at.Add(p.PaymentRecovery))
		}
		if r := j.creditSince(f); r != 0 {
			return until, min(until, r)
		}
		return until, until
	case f.kind == burst && f.stated != 0:
		wait := max(time.Second, f.stated.Sub(f.at))
		return max(f.stated, f.at.Add(time.Second)), f.at.Add(min(wait, p.ParkCap))
	case f.kind == burst:
		trial = f.at.Add(power(p.BurstCooldown, f.step, p.ParkCap))
		return trial, trial
	case f.kind == unsupported:
		trial = f.at.Add(time.Hour)
		if j.a.changed > f.at {
			trial = min(trial, j.a.changed)
		}
		return trial, trial
	case f.kind == denied:
		trial = f.at.Add(power(5*time.Minute, f.step, 6*time.Hour))
		return max(trial, f.stated), trial
	}
	return 0, 0
}

// shownThen is the latest future reset among exhausted windows of the scope
// when the fact was answered.
func (j *judgement) shownThen(f *twinFact) events.Time {
	newest := map[string]*twinClaim{}
	for i := range j.claims {
		c := &j.claims[i]
		if c.spot == f.spot && c.axis == events.AxisWindow && c.at <= f.at && (newest[c.name] == nil || c.at >= newest[c.name].at) {
			newest[c.name] = c
		}
	}
	r := events.Time(0)
	for _, c := range newest {
		if c.out && c.reset > f.at {
			r = max(r, c.reset)
		}
	}
	return r
}

func (j *judgement) billedThen(f *twinFact) events.Time {
	var at, end events.Time
	for _, m := range j.money {
		if m.owner == f.owner && m.billed && m.at <= f.at && m.at >= at {
			at, end = m.at, m.period
		}
	}
	return end
}

func (j *judgement) creditSince(f *twinFact) events.Time {
	first := events.Time(0)
	for _, m := range j.money {
		if m.owner == f.owner && m.room && m.at > f.at && (first == 0 || m.at < first) {
			first = m.at
		}
	}
	return first
}

// lastEnd is the newest success, release or passed trial of a scope.
func (j *judgement) lastEnd(w spot, axis events.Axis) events.Time {
	t := j.releasedAt(w)
	for i := range j.successes {
		if slices.Contains(j.successes[i].spots, w) {
			t = max(t, j.successes[i].answered)
		}
	}
	for _, p := range j.passes {
		if p.spot == w && p.axis == axis {
			t = max(t, p.by.answered)
		}
	}
	return t
}

// armedUntil is healthy_until of a scope.
func (j *judgement) armedUntil(w spot) events.Time {
	t := events.Time(0)
	disarmed := func(after events.Time, s *twinSuccess) bool {
		for i := range j.facts {
			f := &j.facts[i]
			if f.spot == w && (f.kind == quota || f.kind == payment) && f.at > after && !(s != nil && j.knows(s, f.event)) {
				return true
			}
		}
		return false
	}
	for i := range j.successes {
		s := &j.successes[i]
		if slices.Contains(s.spots, w) && !disarmed(s.dispatched, s) {
			t = max(t, s.answered.Add(j.policy.HealthyWindow))
		}
	}
	if r := j.releasedAt(w); r != 0 && !disarmed(r, nil) {
		t = max(t, r.Add(j.policy.HealthyWindow))
	}
	return t
}

// clock is the start of the unbroken time in which some claim was exhausted.
func (j *judgement) clock() events.Time {
	var mine []twinClaim
	for _, c := range j.claims {
		switch c.owner {
		case "host:" + j.a.settings.Endpoint, "group:" + j.a.settings.Group, "account:" + j.id + "/" + j.a.epoch.String():
			mine = append(mine, c)
		}
	}
	slices.SortStableFunc(mine, func(a, b twinClaim) int { return cmp.Compare(a.at, b.at) })
	out := map[string]bool{}
	start := events.Time(0)
	for i := 0; i < len(mine); {
		k := i
		for ; k < len(mine) && mine[k].event == mine[i].event; k++ {
			c := &mine[k]
			name := strings.Join([]string{c.owner, c.scope().String(), c.axis.String(), c.name}, "|")
			if delete(out, name); c.out {
				out[name] = true
			}
		}
		switch {
		case len(out) == 0:
			start = 0
		case start == 0:
			start = mine[i].at
		}
		i = k
	}
	return start
}

func (w spot) scope() events.Scope { return events.Scope{Kind: w.kind, Name: w.name} }

// joined is when an exhausted window began its present run, and the reset that
// it named then.
func (j *judgement) joined(c *twinClaim, ended events.Time) (at, reset events.Time) {
	var own []twinClaim
	for _, o := range j.claims {
		if o.spot == c.spot && o.axis == c.axis && o.name == c.name {
			own = append(own, o)
		}
	}
	slices.SortStableFunc(own, func(a, b twinClaim) int { return cmp.Compare(a.at, b.at) })
	prev := events.Time(0)
	for _, o := range own {
		switch {
		case !o.out:
			at, reset = 0, 0
		case at == 0 || prev <= ended && o.at > ended:
			at, reset = o.at, o.reset
		}
		prev = o.at
	}
	return at, reset
}

func (j *judgement) cells() []*twinCell {
	var all []*twinCell
	cell := func(w spot, axis events.Axis) *twinCell {
		for _, c := range all {
			if c.spot == w && c.axis == axis {
				return c
			}
		}
		all = append(all, &twinCell{spot: w, axis: axis})
		return all[len(all)-1]
	}
	stand := func(f *twinFact, axis events.Axis) {
		if j.covers(f.spot) && !j.ended(f, axis) {
			u, t := j.due(f)
			c := cell(f.spot, axis)
			c.facts = append(c.facts, twinStanding{*f, u, t})
		}
	}
	for i := range j.facts {
		stand(&j.facts[i], j.facts[i].axis)
	}
	seen := map[spot]bool{}
	for i := range j.failures {
		if w := j.failures[i].spot; !seen[w] {
			seen[w] = true
			for _, f := range j.runs(w, j.policy.HealthThreshold) {
				stand(&f, events.AxisHealth)
			}
		}
	}
	for i := range j.claims {
		j.claimed(&j.claims[i], cell)
	}
	for i := range j.desk {
		if d := &j.desk[i]; j.covers(d.spot) {
			if drained, parked := j.deskOf(d.spot); drained != nil || parked != nil {
				c := cell(d.spot, events.AxisOperator)
				if c.desk, c.drained = drained, true; drained == nil {
					c.desk, c.drained = parked, false
				}
			}
		}
	}
	return all
}

func (j *judgement) claimed(c *twinClaim, cell func(spot, events.Axis) *twinCell) {
	for i := range j.claims {
		if o := &j.claims[i]; o.spot == c.spot && o.axis == c.axis && o.name == c.name && (o.at > c.at || o.at == c.at && o.event > c.event) {
			return // there is a newer reading of it
		}
	}
	spots := []spot{c.spot}
	if c.lists {
		spots = nil
		for _, m := range c.names {
			spots = append(spots, spot{owner: c.owner, kind: events.ScopeModel, name: m})
		}
	}
	for _, w := range spots {
		if c.out && j.covers(w) && j.lastEnd(w, c.axis) < c.at && j.armedUntil(w) <= j.now {
			x := cell(w, c.axis)
			x.claims = append(x.claims, *c)
		}
	}
}

func (j *judgement) deskOf(w spot) (drained, parked *twinDesk) {
	newest := func(kind events.Kind, also spot) *twinDesk {
		var n *twinDesk
		for i := range j.desk {
			d := &j.desk[i]
			if d.kind == kind && (d.spot == w || d.spot == also) && (n == nil || d.at > n.at || d.at == n.at && d.event > n.event) {
				n = d
			}
		}
		return n
	}
	wide := spot{owner: w.owner, kind: events.ScopeAccount}
	switch {
	case strings.HasPrefix(w.owner, "host:"):
		wide.kind = events.ScopeEndpoint
	case strings.HasPrefix(w.owner, "group:"):
		wide.kind = events.ScopeGroup
	}
	undrained := newest(events.KindOperatorUndrained, wide)
	stands := func(d *twinDesk) bool {
		return d != nil && (undrained == nil || d.at > undrained.at || d.at == undrained.at && d.event > undrained.event)
	}
	if drained = newest(events.KindOperatorDrained, w); !stands(drained) {
		drained = nil
	}
	if parked = newest(events.KindOperatorParked, w); !stands(parked) || parked.until != 0 && j.now >= parked.until {
		parked = nil
	}
	return drained, parked
}
