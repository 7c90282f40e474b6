package admission

import (
	"slices"
	"time"

	"github.com/waybill/waybill/events"
)

// setback is one failure of health (R12).
type setback struct {
	witness
	strict bool // an answer that only its successor made a failure (R11): cools down to park_cap
	step   uint32
	stated events.Time // Retry-After: for people, it does not lengthen the cooldown
}

// setBack keeps a failure.
func (p *place) setBack(n setback) {
	i := len(p.setbacks)
	for i > 0 && n.before(&p.setbacks[i-1].witness) {
		i--
	}
	if i > 0 && p.setbacks[i-1].same(&n.witness) {
		return
	}
	p.setbacks = slices.Insert(p.setbacks, i, n)
	if len(p.setbacks) > maxSetbacks {
		p.setbacks = slices.Delete(p.setbacks, 0, 1)
	}
}

// takeBack forgets a failure that turned out to be none.
func (p *place) takeBack(w *witness) {
	p.setbacks = slices.DeleteFunc(p.setbacks, func(n setback) bool { return n.same(w) })
}

// calm notes a contrary answer: it starts the count of failures anew. When
// there are many, one between two others says least: only a failure that
// arrives late could miss it.
func (p *place) calm(at events.Time) {
	i := len(p.calms)
	for i > 0 && at < p.calms[i-1] {
		i--
	}
	p.calms = slices.Insert(p.calms, i, at)
	if len(p.calms) <= maxCalms {
		return
	}
	thin := 0
	for i := 1; i+1 < len(p.calms) && thin == 0; i++ {
		if !p.failedBetween(p.calms[i-1], p.calms[i+1]) {
			thin = i
		}
	}
	p.calms = slices.Delete(p.calms, thin, thin+1)
}

func (p *place) failedBetween(from, to events.Time) bool {
	for i := range p.setbacks {
		if at := p.setbacks[i].at; at >= from && at <= to {
			return true
		}
	}
	return false
}

// failures calls fn for every failure that completes the threshold: each is a
// health fact. A contrary answer starts the count anew; it ends no fact.
func (p *place) failures(threshold uint32, fn func(n *setback)) {
	run, c := uint32(0), 0
	for i := range p.setbacks {
		n := &p.setbacks[i]
		for ; c < len(p.calms) && p.calms[c] < n.at; c++ {
			run = 0
		}
		if run++; run >= min(max(threshold, 1), maxSetbacks/2) {
			fn(n)
		}
	}
}

// settleHealth forgets what no count reaches back to from beyond a line: what
// lies before the last contrary answer before it.
func (p *place) settleHealth(line events.Time) {
	last := -1
	for i := 0; i < len(p.calms) && p.calms[i] < line; i++ {
		last = i
	}
	if last < 0 {
		return
	}
	if len(p.setbacks) > 0 {
		from := p.calms[last]
		p.setbacks = slices.DeleteFunc(p.setbacks, func(n setback) bool { return n.at < from })
	}
	p.calms = slices.Delete(p.calms, 0, last)
}

// The cooldown of a failing scope (R12).
const (
	healthCooldown = 5 * time.Second
	healthCeiling  = 2 * time.Minute
)

// due is the fact's two instants.
func (n *setback) due(p *events.Policy) (until, trialAt events.Time) {
	ceiling := healthCeiling
	if n.strict {
		ceiling = p.ParkCap
	}
	trialAt = n.at.Add(min(doubled(healthCooldown, n.step), ceiling))
	return max(n.stated, trialAt), trialAt
}

// doubled is d * 2^(step-1), saturated far above every ceiling.
func doubled(d time.Duration, step uint32) time.Duration {
	const most = 400 * 24 * time.Hour
	for ; step > 1 && d < most; step-- {
		d *= 2
	}
	return min(d, most)
}
