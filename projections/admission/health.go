package admission

import (
	"slices"
	"time"

	"github.com/waybill/waybill/events"
)

// beat is one answer as the health of a scope sees it (R12): a failure, or a
// contrary answer, which starts the count anew.
type beat struct {
	witness
	failed bool
	strict bool // an answer that only its successor made a failure (R11): cools down to park_cap
	step   uint32
	stated events.Time // Retry-After: for people, it does not lengthen the cooldown
}

// beat keeps an answer. When there are many, those between two contrary ones
// say least: only a failure that arrives late could miss them.
func (p *place) beat(b beat) {
	i := len(p.beats)
	for i > 0 && b.before(&p.beats[i-1].witness) {
		i--
	}
	if i > 0 && p.beats[i-1].same(&b.witness) {
		return
	}
	p.beats = slices.Insert(p.beats, i, b)
	if len(p.beats) > fewBeats {
		p.thin()
	}
}

// thin drops a contrary answer between two others, else, at the bound, the
// oldest answer.
func (p *place) thin() {
	for i := 1; i+1 < len(p.beats); i++ {
		if !p.beats[i-1].failed && !p.beats[i].failed && !p.beats[i+1].failed {
			p.beats = slices.Delete(p.beats, i, i+1)
			return
		}
	}
	if len(p.beats) > maxBeats {
		p.beats = slices.Delete(p.beats, 0, 1)
	}
}

// unbeat takes a failure back.
func (p *place) unbeat(w *witness) {
	p.beats = slices.DeleteFunc(p.beats, func(b beat) bool { return b.failed && b.same(w) })
}

// failures calls fn for every failure that completes the threshold: each is a
// health fact. A contrary answer starts the count anew; it ends no fact.
func (p *place) failures(threshold uint32, fn func(b *beat)) {
	run := uint32(0)
	for i := range p.beats {
		b := &p.beats[i]
		if !b.failed {
			run = 0
			continue
		}
		if run++; run >= min(max(threshold, 1), maxBeats/2) {
			fn(b)
		}
	}
}

// The cooldown of a failing scope (R12).
const (
	healthCooldown = 5 * time.Second
	healthCeiling  = 2 * time.Minute
)

// due is the fact's two instants.
func (b *beat) due(p *events.Policy) (until, trialAt events.Time) {
	ceiling := healthCeiling
	if b.strict {
		ceiling = p.ParkCap
	}
	trialAt = b.at.Add(min(doubled(healthCooldown, b.step), ceiling))
	return max(b.stated, trialAt), trialAt
}

// doubled is d * 2^(step-1), saturated far above every ceiling.
func doubled(d time.Duration, step uint32) time.Duration {
	const most = 400 * 24 * time.Hour
	for ; step > 1 && d < most; step-- {
		d *= 2
	}
	return min(d, most)
}
