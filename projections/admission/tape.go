package admission

import (
	"slices"

	"github.com/waybill/waybill/events"
)

// tape is what readings said of one owner's windows and credit. The newest
// reading per window is the claim; the marks behind it are kept so that late
// readings fall into their place, and what leaves at the far end is summed up
// in the claims' first runs and in the streak.
type tape struct {
	claims []claim
	marks  []mark      // by observed-at; ties by arrival
	streak events.Time // start of the unbroken time that was open before the first mark, 0 none
	lines  []line      // billing and credit, by observed-at
	copied bool
}

func (t *tape) copy() *tape {
	return &tape{claims: slices.Clone(t.claims), marks: slices.Clone(t.marks), streak: t.streak,
		lines: slices.Clone(t.lines), copied: true}
}

// claim is one window, or the credit budget, by its newest reading.
type claim struct {
	key    key
	axis   events.Axis
	name   string
	at     events.Time // observed
	ref    events.Ref
	out    bool // exhausted, by R1 or R10
	inBand bool
	source string
	window events.Window
	credit *events.Credit // on axis credit, never changed once it stands here
	before run            // as it was before the oldest mark
}

func (c *claim) reset() events.Time {
	if c.credit != nil {
		return c.credit.ResetsAt
	}
	return c.window.ResetsAt
}

// run is the unbroken time in which a window has been exhausted.
type run struct {
	joined events.Time // first exhausted reading, 0 none
	first  events.Time // the reset that it named
	last   events.Time // newest exhausted reading
	reset  events.Time // the reset that this one named
}

// next is the run after one more reading. An end in between (a success, a
// release) makes the reading the first of a new run.
func (r run) next(m *mark, ended events.Time) run {
	switch {
	case !m.out:
		return run{}
	case r.joined == 0 || r.last <= ended && m.at > ended:
		return run{joined: m.at, first: m.reset, last: m.at, reset: m.reset}
	}
	r.last, r.reset = m.at, m.reset
	return r
}

// mark is one reading's word on one window.
type mark struct {
	at    events.Time
	ref   events.Ref
	claim uint16
	out   bool
	reset events.Time
}

func (t *tape) speaksOf(k key) bool {
	for i := range t.claims {
		if t.claims[i].key == k {
			return true
		}
	}
	return false
}

// outs says whether some window is exhausted by its newest reading.
func (t *tape) outs() bool {
	for i := range t.claims {
		if t.claims[i].out {
			return true
		}
	}
	return false
}

func (t *tape) find(k key, axis events.Axis, name string) int {
	for i := range t.claims {
		if c := &t.claims[i]; c.axis == axis && c.name == name && c.key == k {
			return i
		}
	}
	return -1
}

// read folds a reading of a window. ended tells the newest end of evidence in
// a scope; it is asked when a mark leaves the tape. It says whether the reading
// was in time to change anything.
func (t *tape) read(c claim, ended func(key) events.Time) bool {
	i := t.find(c.key, c.axis, c.name)
	if i < 0 {
		if len(t.claims) >= maxClaims {
			return false
		}
		t.claims = append(t.claims, claim{key: c.key, axis: c.axis, name: c.name})
		i = len(t.claims) - 1
	}
	if !t.mark(mark{at: c.at, ref: c.ref, claim: uint16(i), out: c.out, reset: c.reset()}) {
		return false
	}
	if have := &t.claims[i]; c.at >= have.at {
		c.before = have.before
		*have = c
	}
	for len(t.marks) > maxMarks {
		t.absorb(ended)
	}
	return true
}

// mark puts a reading in its place. One that is older than everything kept of
// a full tape is too late to change anything.
func (t *tape) mark(m mark) bool {
	i := len(t.marks)
	for i > 0 && m.at < t.marks[i-1].at {
		i--
	}
	if i == 0 && len(t.marks) >= maxMarks {
		return false
	}
	t.marks = slices.Insert(t.marks, i, m)
	return true
}

// absorb sums up the oldest reading.
func (t *tape) absorb(ended func(key) events.Time) {
	n := 1
	for n < len(t.marks) && t.marks[n].sameReading(&t.marks[0]) {
		n++
	}
	for i := range t.marks[:n] {
		m := &t.marks[i]
		c := &t.claims[m.claim]
		c.before = c.before.next(m, ended(c.key))
	}
	at := t.marks[0].at
	t.marks = slices.Delete(t.marks, 0, n)
	open := false
	for i := range t.claims {
		open = open || t.claims[i].before.joined != 0
	}
	switch {
	case !open:
		t.streak = 0
	case t.streak == 0:
		t.streak = at
	}
}

func (m *mark) sameReading(o *mark) bool { return m.at == o.at && m.ref == o.ref }

// runOf is a window's run up to now; one that ended before the newest end of
// evidence in its scope starts anew with the next exhausted reading.
func (t *tape) runOf(i int, ended events.Time) run {
	r := t.claims[i].before
	for j := range t.marks {
		if m := &t.marks[j]; int(m.claim) == i {
			r = r.next(m, ended)
		}
	}
	return r
}

// span is an unbroken time in which some window was exhausted; end is 0 while
// it lasts.
type span struct{ start, end events.Time }

// spans appends the tape's spans, oldest first.
func (t *tape) spans(dst []span) []span {
	var out uint64
	for i := range t.claims {
		if t.claims[i].before.joined != 0 {
			out |= 1 << i
		}
	}
	start := t.streak
	for i := 0; i < len(t.marks); {
		at := t.marks[i].at
		for first := i; i < len(t.marks) && t.marks[i].sameReading(&t.marks[first]); i++ {
			if m := &t.marks[i]; m.out {
				out |= 1 << m.claim
			} else {
				out &^= 1 << m.claim
			}
		}
		switch {
		case out == 0 && start != 0:
			dst = append(dst, span{start, at})
			start = 0
		case out != 0 && start == 0:
			start = at
		}
	}
	if start != 0 {
		dst = append(dst, span{start: start})
	}
	return dst
}

// latestReset is the latest future reset that the readings up to an instant
// show for the exhausted windows of a scope (R7).
func (t *tape) latestReset(k key, at events.Time) events.Time {
	latest := events.Time(0)
	for i := range t.claims {
		c := &t.claims[i]
		if c.key != k || c.axis != events.AxisWindow {
			continue
		}
		reset := c.before.reset
		for j := range t.marks {
			m := &t.marks[j]
			if m.at > at {
				break
			}
			if int(m.claim) == i {
				reset = 0
				if m.out {
					reset = m.reset
				}
			}
		}
		latest = max(latest, reset)
	}
	if latest <= at {
		return 0
	}
	return latest
}

// line is what a reading said of money: the period's end, the plan, whether
// credit is available.
type line struct {
	at     events.Time
	ref    events.Ref
	billed bool
	plan   events.Plan
	period events.Time
	room   bool
}

func (t *tape) note(l line) bool {
	i := len(t.lines)
	for i > 0 && l.at < t.lines[i-1].at {
		i--
	}
	if i == 0 && len(t.lines) >= maxLines {
		return false
	}
	t.lines = slices.Insert(t.lines, i, l)
	if len(t.lines) > maxLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	return true
}

// periodEnd is the end of the billing period by the newest reading at or
// before an instant.
func (t *tape) periodEnd(at events.Time) events.Time {
	for i := len(t.lines) - 1; i >= 0; i-- {
		if l := &t.lines[i]; l.billed && l.at <= at {
			return l.period
		}
	}
	return 0
}

// creditAfter is the first reading with credit available after an instant.
func (t *tape) creditAfter(at events.Time) events.Time {
	for i := range t.lines {
		if l := &t.lines[i]; l.room && l.at > at {
			return l.at
		}
	}
	return 0
}

// plan is the newest billing reading's.
func (t *tape) plan() events.Plan {
	for i := len(t.lines) - 1; i >= 0; i-- {
		if t.lines[i].billed {
			return t.lines[i].plan
		}
	}
	return events.PlanUnknown
}
