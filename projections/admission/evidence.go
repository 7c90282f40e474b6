package admission

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// witness names an event in a way that does not depend on its position: it is
// compared with what a decision knew, and breaks ties.
type witness struct {
	at     events.Time // answered
	ref    events.Ref
	writer uuid.UUID
	seq    uint64
}

// before orders evidence by its own time; ties by writer, so that the order of
// arrival decides nothing.
func (w *witness) before(o *witness) bool {
	if w.at != o.at {
		return w.at < o.at
	}
	if w.writer != o.writer {
		return bytes.Compare(w.writer[:], o.writer[:]) < 0
	}
	return w.seq < o.seq
}

func (w *witness) same(o *witness) bool { return w.writer == o.writer && w.seq == o.seq }

// knowledge is what the decision behind a dispatch had in its view.
type knowledge struct {
	writer uuid.UUID
	knew   events.Position
	own    uint64
}

func (k *knowledge) covers(w *witness) bool {
	return w.ref > 0 && w.ref <= events.Ref(k.knew) || w.writer == k.writer && w.seq <= k.own
}

// beats says that whatever o knew, k knew.
func (k *knowledge) beats(o *knowledge) bool {
	return *o == knowledge{} || k.knew >= o.knew && k.writer == o.writer && k.own >= o.own
}

// success is a protocol-level terminal success (R6).
type success struct {
	dispatched, answered events.Time
	knowledge
}

// settled is the time after which what a decision knew no longer adds anything
// to when it dispatched: far above any clock skew. Evidence that is older than
// a success by it is forgotten where the success ended it.
const settled = time.Minute

func (s *success) beats(o *success) bool {
	return s.dispatched >= o.dispatched && s.answered >= o.answered &&
		(s.knowledge.beats(&o.knowledge) || s.dispatched >= o.dispatched.Add(settled))
}

// ends says whether a success of this dispatch ends a fact (R6).
func (s *success) ends(w *witness, skew time.Duration) bool {
	return s.dispatched > w.at.Add(skew) || s.covers(w)
}

// succeed keeps a success unless another beats it, and forgets what it settles.
func (p *place) succeed(s success) {
	kept := p.successes[:0]
	for i := range p.successes {
		o := &p.successes[i]
		if o.beats(&s) {
			return
		}
		if !s.beats(o) {
			kept = append(kept, *o)
		}
	}
	p.successes = append(kept, s)
	slices.SortFunc(p.successes, compareSuccess)
	if len(p.successes) > maxSuccesses {
		// The first but one: the extremes say most of a staircase.
		p.successes = slices.Delete(p.successes, 1, 2)
	}
	p.settle()
}

func compareSuccess(a, b success) int {
	switch {
	case a.dispatched != b.dispatched:
		return cmp.Compare(a.dispatched, b.dispatched)
	case a.answered != b.answered:
		return cmp.Compare(a.answered, b.answered)
	case a.writer != b.writer:
		return bytes.Compare(a.writer[:], b.writer[:])
	case a.own != b.own:
		return cmp.Compare(a.own, b.own)
	}
	return cmp.Compare(a.knew, b.knew)
}

// settle forgets facts and failures that a much later dispatch has ended for
// good.
func (p *place) settle() {
	if len(p.successes) == 0 {
		return
	}
	line := p.successes[len(p.successes)-1].dispatched.Add(-settled)
	if len(p.facts) > 0 {
		p.facts = slices.DeleteFunc(p.facts, func(f fact) bool { return f.at < line && f.kind != banned })
	}
	p.settleHealth(line)
}

// factKind is a rule that a fact is judged by.
type factKind uint8

const (
	quota       factKind = iota + 1 // 429 of an exhausted window (R7)
	payment                         // 402 and its like (R8)
	burst                           // 429 of a rate (R7)
	denied                          // 401, or a forbidden marked temporary (R11)
	banned                          // forbidden for good (R11)
	unsupported                     // the account does not serve the model (R12)
)

// factRow is what a kind of fact means: where it stands and how it is called.
type factRow struct {
	axis   events.Axis
	reason events.Reason
	rank   uint8
}

// The ranks of Precedence, weakest first.
const (
	rankClaim uint8 = iota + 1
	rankHealth
	rankBurst
	rankQuota
	rankPayment
	rankAuth
	rankOperator
)

func (k factKind) row() factRow {
	switch k {
	case quota:
		return factRow{events.AxisWindow, events.ReasonWindowExhausted, rankQuota}
	case payment:
		return factRow{events.AxisPayment, events.ReasonPaymentRequired, rankPayment}
	case burst:
		return factRow{events.AxisRate, events.ReasonRateLimited, rankBurst}
	case unsupported:
		return factRow{events.AxisAuth, events.ReasonModelUnsupported, rankAuth}
	}
	return factRow{events.AxisAuth, events.ReasonAuthFailed, rankAuth}
}

// fact is what an upstream answered, as it was answered: what it means in time
// depends on the policy and is derived when it is asked for.
type fact struct {
	witness
	kind    factKind
	step    uint32
	stated  events.Time // the reset that the answer stated, 0 none
	guessed bool        // read from wording: not a stated reset (R7)
	frozen  events.Time // quota: latest reset by the readings then; payment: end of the billing period then
	room    events.Time // payment: the first later reading with credit available
}

// answer keeps a fact unless one that says at least as much stands.
func (p *place) answer(f fact) {
	for i := range p.facts {
		if o := &p.facts[i]; o.same(&f.witness) || o.dominates(&f) {
			return
		}
	}
	p.facts = slices.DeleteFunc(p.facts, func(o fact) bool { return f.dominates(&o) })
	i, _ := slices.BinarySearchFunc(p.facts, f, func(a, b fact) int {
		if a.before(&b.witness) {
			return -1
		}
		return 1
	})
	p.facts = slices.Insert(p.facts, i, f)
	p.trim(f.kind.row().axis)
	p.settle()
}

// dominates is R13 on what never changes any more: the values that a late
// reading may still change (frozen, room) have no part in it.
func (f *fact) dominates(o *fact) bool {
	if f.kind != o.kind || f.before(&o.witness) || f.step < o.step || f.same(&o.witness) {
		return false
	}
	switch f.kind {
	case banned, payment:
		return false
	case quota:
		return o.firm() && f.firm() && f.stated >= o.stated
	case burst:
		return (f.stated == 0) == (o.stated == 0) && f.stated >= o.stated
	}
	return f.stated >= o.stated
}

// firm says that the answer stated its reset, not only in words that suggest one.
func (f *fact) firm() bool { return f.stated != 0 && !f.guessed }

// trim holds the bound of an axis: the oldest facts go first.
func (p *place) trim(axis events.Axis) {
	n, first := 0, -1
	for i := range p.facts {
		if p.facts[i].kind.row().axis == axis {
			if first < 0 && p.facts[i].kind != banned {
				first = i
			}
			n++
		}
	}
	if n > maxFacts && first >= 0 {
		p.facts = slices.Delete(p.facts, first, first+1)
	}
}
