package routing

import (
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// standing orders candidates before their weights do (R15).
type standing uint8

const (
	roomy  standing = iota // known room, or no quota source at all
	unread                 // has a source, and never a reading
	stale                  // has readings, none of them fresh
	scarce                 // known, and nothing to spend
)

const (
	// plenty is the weight of an account without a quota source where no other
	// candidate is known: any number would do.
	plenty = int64(events.DecimalUnit)
	// unmeasured marks a weight that no reading tells.
	unmeasured = -1
)

// sustainable is what a path can spend until its quota comes back, the least
// over the axes that it has: percent per hour, in millionths.
func sustainable(rooms []admission.Room, source bool, policy *events.Policy, now events.Time) (w int64, st standing) {
	switch {
	case len(rooms) == 0 && source:
		return unmeasured, unread
	case len(rooms) == 0:
		return unmeasured, roomy
	}
	st = stale
	for i := range rooms {
		r := &rooms[i]
		if now.Sub(r.ObservedAt) > policy.ReadingMaxAge {
			continue
		}
		if rate := perHour(r, policy.Reserve, now); st == stale || rate < w {
			w, st = rate, roomy
		}
	}
	if st == roomy && w == 0 {
		st = scarce
	}
	return w, st
}

// perHour is one axis' sustainable weight: what may be spent, spread over the
// time to its own reset; the spendable part alone where the reset is unknown.
func perHour(r *admission.Room, reserve events.Decimal, now events.Time) int64 {
	const (
		hour = int64(time.Hour / time.Microsecond)
		full = 100 * int64(events.DecimalUnit)
	)
	spendable := min(max(int64(r.Remaining)-int64(reserve), 0), full)
	if r.ResetsAt <= now {
		return spendable
	}
	return spendable * hour / max(int64(r.ResetsAt)-int64(now), hour/60)
}
