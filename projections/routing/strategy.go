package routing

import (
	"slices"

	"github.com/waybill/waybill/events"
)

// pick chooses among the usable candidates of [from, to) by the route's
// strategy, none when there is none. One that turns out to be saturated is
// marked and passed over.
func (d *walk) pick(from, to int) int {
	for {
		i := d.prefer(from, to)
		if i == none || !d.saturated(i) {
			return i
		}
	}
}

func (d *walk) prefer(from, to int) int {
	switch d.route.strategy {
	case events.StrategyOrdered:
		return d.first(from, to)
	case events.StrategyRoundRobin:
		return d.turn(from, to)
	case events.StrategyLeastBusy:
		return d.idlest(from, to)
	default:
		return d.balanced(from, to, scarce)
	}
}

func (d *walk) first(from, to int) int {
	for i := from; i < to; i++ {
		if d.at(i).usable() {
			return i
		}
	}
	return none
}

// turn takes the cursor's turn among those that can serve, so that one that is
// out does not give its turns to its neighbour.
func (d *walk) turn(from, to int) int {
	n := uint64(0)
	for i := from; i < to; i++ {
		if d.at(i).usable() {
			n++
		}
	}
	if n == 0 {
		return none
	}
	left := d.stamp.Cursor % n
	for i := from; ; i++ {
		if !d.at(i).usable() {
			continue
		}
		if left == 0 {
			return i
		}
		left--
	}
}

// idlest has the fewest requests in flight for its weight; the rendezvous
// decides between equals.
func (d *walk) idlest(from, to int) int {
	best, key := none, rendezvousKey(d.stamp, d.request)
	var least, weight int64
	var rare uint64
	for i := from; i < to; i++ {
		if !d.at(i).usable() {
			continue
		}
		m := d.member(i)
		n, w, r := d.load(i), m.weight, rarity(draw(key, m.seed))
		ours, theirs := n*weight, least*w
		if best == none || ours < theirs || ours == theirs && beats(w, r, weight, rare) {
			best, least, weight, rare = i, n, w, r
		}
	}
	return best
}

// balanced is R15. Only standings up to worst are taken.
func (d *walk) balanced(from, to int, worst standing) int {
	best, most := d.weigh(from, to)
	if best > worst {
		return none
	}
	if best >= stale {
		return from + slices.IndexFunc(d.scratch.standing[from:to], func(s standing) bool { return s == best })
	}
	chosen, key := none, rendezvousKey(d.stamp, d.request)
	var weight int64
	var rare uint64
	for i := from; i < to; i++ {
		m, c := d.member(i), d.at(i)
		if c.Weight == unmeasured {
			c.Weight = most
		}
		c.Weight *= m.weight
		if d.scratch.standing[i] != best {
			continue
		}
		r := rarity(draw(key, m.seed))
		if chosen == none || beats(c.Weight, r, weight, rare) {
			chosen, weight, rare = i, c.Weight, r
		}
	}
	return chosen
}

// unusable stands after every standing.
const unusable standing = 255

// weigh notes the sustainable weight and the standing of each usable
// candidate, and returns the best standing and the greatest weight measured.
func (d *walk) weigh(from, to int) (best standing, most int64) {
	best, most = unusable, 0
	stands := d.scratch.standing
	for i := from; i < to; i++ {
		c := d.at(i)
		if !c.usable() {
			stands[i] = unusable
			continue
		}
		c.Weight, stands[i] = sustainable(d.rooms(i), d.member(i).source, d.policy, d.now)
		most = max(most, c.Weight)
		best = min(best, stands[i])
	}
	if most == 0 {
		most = plenty
	}
	return best, most
}
