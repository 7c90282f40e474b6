package routing

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// none is no candidate.
const none = -1

// walk is one decision being made. Candidates are named by their index in
// out.Candidates, which is their member's index in the route (but see extra).
type walk struct {
	view     View
	route    *route
	request  uuid.UUID
	attempt  uint32
	stamp    *events.Stamp
	policy   *events.Policy
	now      events.Time
	inFlight func(account uint32) int64

	out    Decision
	held   int               // candidate whose slot this very attempt holds
	grant  *events.Trial     // as it was granted
	free   admission.Verdict // of the held one, as if its slot were free
	own    int               // the pinned candidate
	looked int               // candidates of the tiers looked at

	marked        bool // the stamp says something of single candidates
	scratch       *scratch
	replayed      int // loads of the stamp that a replay has used up
	extra, beyond int // the pinned candidate, when it stands beyond the tiers looked at, and its member
}

func (d *walk) at(i int) *Candidate { return &d.out.Candidates[i] }

// rooms are the axes that placement weighs for a candidate.
func (d *walk) rooms(i int) []admission.Room {
	if i == d.extra {
		i = d.beyond
	}
	return d.route.gates[i].rooms
}

// member is the one behind a candidate.
func (d *walk) member(i int) *member {
	if i == d.extra {
		i = d.beyond
	}
	return &d.route.members[i]
}

// look judges the members of one tier and returns the end of its candidates.
func (d *walk) look(from int) (to int) {
	members := d.route.members
	for to = from; to < len(members) && members[to].tier == members[from].tier; to++ {
		d.see(to)
	}
	d.looked = to
	return to
}

func (d *walk) see(i int) {
	m := &d.route.members[i]
	v := d.judge(i).verdict
	d.out.Candidates = append(d.out.Candidates, Candidate{Account: m.account.No, Tier: uint16(m.tier), Model: m.model, Verdict: v, Reason: v.Reason})
	if d.marked {
		d.mark(len(d.out.Candidates)-1, m)
	}
}

// mark notes what the stamp says of a candidate: tried, ruled out, not there, or
// claimed.
func (d *walk) mark(i int, m *member) {
	c := d.at(i)
	if slices.Contains(d.stamp.Tried, c.Account) || slices.Contains(d.stamp.Avoid, m.account.Settings.Endpoint) {
		c.Reason = events.ReasonAlreadyTried
	}
	if slices.Contains(d.stamp.Absent, c.Account) {
		c.Reason = events.ReasonNotConfigured
		return
	}
	if d.stamp.Claimed == c.Account && c.Verdict.Reason == events.ReasonTrialInProgress && d.held == none {
		d.hold(i, m)
	}
}

// hold notices that the slot that this attempt has claimed was granted to it.
// Another member of its group may show the same slot: the claim was not for it.
func (d *walk) hold(i int, m *member) {
	path := admission.Path{Account: m.account.No, Model: m.model}
	grant, free := admission.AdmitHolder(d.view.Admission, path, d.request, d.attempt, d.policy, d.now)
	if grant != nil {
		d.held, d.grant, d.free = i, grant, free
	}
}

// usable: admitted, not tried by this request, and not found saturated.
func (c *Candidate) usable() bool { return c.Verdict.Admitted && c.Reason == events.ReasonNone }

// absent: the process that decides cannot send to it, whatever the verdict is.
func (c *Candidate) absent() bool { return c.Reason == events.ReasonNotConfigured }

// due: it may be claimed now.
func (c *Candidate) due() bool { return c.Verdict.Trial && c.Reason == c.Verdict.Reason }

// saturated asks whether the account has a connection free for this request,
// and notes it on the candidate when it has none.
func (d *walk) saturated(i int) bool {
	c := d.at(i)
	limit := d.member(i).account.Settings.MaxConcurrent
	if limit <= 0 || d.load(i) < limit {
		return false
	}
	if c.Verdict.Admitted {
		c.Reason = events.ReasonSaturated
	}
	return true
}

// load is an account's requests in flight: asked once per candidate, recorded
// unless zero. A replay asks in the same order.
func (d *walk) load(i int) int64 {
	busy := d.scratch.busy
	if len(busy) == 0 {
		n := len(d.route.members) + 1
		busy = slices.Grow(busy, n)[:n]
		clear(busy)
		d.scratch.busy = busy
	}
	if busy[i] == 0 {
		busy[i] = d.ask(d.at(i).Account) + 1
	}
	return busy[i] - 1
}

func (d *walk) ask(account uint32) int64 {
	if d.inFlight != nil {
		n := d.inFlight(account)
		if n != 0 {
			d.stamp.Loads = append(d.stamp.Loads, events.Load{Account: account, InFlight: n})
		}
		return n
	}
	loads := d.stamp.Loads
	if d.replayed < len(loads) && loads[d.replayed].Account == account {
		d.replayed++
		return loads[d.replayed-1].InFlight
	}
	for _, l := range loads {
		if l.Account == account {
			return l.InFlight
		}
	}
	return 0 // what was not recorded was zero
}
