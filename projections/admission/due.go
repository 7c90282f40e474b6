package admission

import (
	"time"

	"github.com/waybill/waybill/events"
)

// The waits of R11 and R12 that no policy changes.
const (
	authRecovery  = 5 * time.Minute
	authCeiling   = 6 * time.Hour
	modelRecovery = time.Hour
	burstFloor    = time.Second
)

// due is a fact's two instants under a policy: the provider's own reset, and
// when we are willing to test, 0 for never. reload is the account's newest
// change of settings.
func (f *fact) due(p *events.Policy, reload events.Time) (until, trialAt events.Time) {
	switch f.kind {
	case quota:
		return f.quotaDue(p)
	case payment:
		return f.paymentDue(p)
	case burst:
		return f.burstDue(p)
	case unsupported:
		trialAt = f.at.Add(modelRecovery)
		if reload > f.at {
			trialAt = min(trialAt, reload)
		}
		return trialAt, trialAt
	case denied:
		trialAt = f.at.Add(min(doubled(authRecovery, f.step), authCeiling))
		return max(f.stated, trialAt), trialAt
	}
	return 0, 0
}

// names says whether an instant is the provider's word, rather than our wait.
func (f *fact) names(until events.Time) bool {
	return until == f.stated && !f.guessed || until == f.frozen && f.frozen > f.at
}

// quotaDue: the stated reset, else the latest that readings showed when it was
// answered, else the end of our own wait.
func (f *fact) quotaDue(p *events.Policy) (until, trialAt events.Time) {
	wait := f.at.Add(min(doubled(p.RateLimitPark, f.step), p.ParkCap))
	switch {
	case f.firm():
		until = max(f.stated, f.at.Add(burstFloor))
	case f.frozen > f.at:
		until = f.frozen
	default:
		until = wait
	}
	return until, min(until, wait)
}

// burstDue: a hint is obeyed within [1s, park_cap], and shown as it was stated.
func (f *fact) burstDue(p *events.Policy) (until, trialAt events.Time) {
	if f.stated != 0 {
		wait := min(max(f.stated.Sub(f.at), burstFloor), max(p.ParkCap, burstFloor))
		return max(f.stated, f.at.Add(burstFloor)), f.at.Add(wait)
	}
	trialAt = f.at.Add(min(doubled(p.BurstCooldown, f.step), p.ParkCap))
	return trialAt, trialAt
}

// paymentDue: the billing period's end as known then, else the stated reset,
// else payment_recovery. A past instant says nothing here: its minimum would
// be to ask an empty account again and again.
func (f *fact) paymentDue(p *events.Policy) (until, trialAt events.Time) {
	wait := f.at.Add(p.PaymentRecovery)
	switch {
	case f.frozen > f.at:
		until = f.frozen
	case f.firm() && f.stated > f.at:
		until = f.stated
	default:
		until = wait
	}
	if f.step > 1 {
		return until, min(until, wait)
	}
	if f.room != 0 {
		return until, min(until, f.room)
	}
	return until, until
}
