package admission

import (
	"slices"
	"time"

	"github.com/waybill/waybill/events"
)

// farthest is how far a reset may lie away to be believed (R19).
const farthest = 400 * 24 * time.Hour

// reading folds one observation of quota (R1, R10). Windows that it does not
// name, or names without saying anything, stay as they were.
func (f *fold) reading(r *events.Reading, at events.Time, inBand bool) {
	for i := range r.Windows {
		w := &r.Windows[i]
		if w.Speaks() {
			f.window(w, r.Source, at, inBand)
		}
	}
	o, _ := f.a.target(f.shelf(f.a, f.e.Epoch), events.AxisCredit, events.Scope{Kind: events.ScopeAccount})
	if c := r.Credit; c != nil {
		f.credit(o, c, r.Source, at, inBand)
	}
	f.money(o, r, at)
}

// exhausted is R1: the provider calls it empty, and its reset lies ahead.
func exhausted(w *events.Window, at events.Time) bool { return ahead(w.ResetsAt, at) && w.Spent() }

// AsksAgain says that an event holds a reading that claims exhaustion of
// something that gates a model, without a reset ahead of it: that parks
// nothing, and a new reading is wanted (R1, R10).
func AsksAgain(e *events.Event) bool {
	r, at := events.ReadingOf(e)
	if r == nil {
		return false
	}
	c := r.Credit
	return c != nil && c.Reached == events.Yes && !ahead(c.ResetsAt, at) || slices.ContainsFunc(r.Windows, func(w events.Window) bool {
		gates := w.Scope.Kind != events.ScopeNone && w.Scope.Kind != events.ScopeRequest
		return gates && w.Spent() && !ahead(w.ResetsAt, at)
	})
}

func ahead(reset, at events.Time) bool { return reset > at && reset <= at.Add(farthest) }

func (f *fold) window(w *events.Window, source string, at events.Time, inBand bool) {
	scope := orElse(w.Scope, events.ScopeAccount, "")
	if scope.Kind == events.ScopeRequest {
		return
	}
	o, k := f.a.target(f.shelf(f.a, f.e.Epoch), events.AxisWindow, scope)
	l := f.write(o)
	if k.kind != events.ScopeNone {
		l.change(f.a, k)
	}
	if l.record().read(claim{key: k, axis: events.AxisWindow, name: w.Name, at: at, ref: f.ref, out: k.kind != events.ScopeNone && exhausted(w, at),
		inBand: inBand, source: source, window: *w}, l.ended) {
		f.refreeze(l, at)
		*o.gen++
	}
}

// credit is R10: the flag and a reset ahead, never a percentage.
func (f *fold) credit(o *owner, c *events.Credit, source string, at events.Time, inBand bool) {
	numbers := c.UsedPercent.Set || c.Used.Set && c.Limit.Set
	if c.Reached == events.Absent && c.Available == events.Absent && !numbers && len(c.Models) == 0 {
		return
	}
	kept := *c
	kept.Models = slices.Clone(c.Models)
	l := f.write(o)
	if l.record().read(claim{key: o.wide(), axis: events.AxisCredit, name: "credit", at: at, ref: f.ref,
		out:    c.Reached == events.Yes && ahead(c.ResetsAt, at) && (len(c.Models) == 0 || slices.ContainsFunc(c.Models, parks)),
		inBand: inBand, source: source, credit: &kept}, l.ended) {
		*o.gen++
	}
}

// parks says whether a reached budget closes a model.
func parks(m events.ModelCredit) bool {
	return m.Available == events.No || m.CreditsWouldEnable == events.Yes && m.Available != events.Yes
}

// money keeps what R8 asks of readings: the billing period, and that there is
// credit again.
func (f *fold) money(o *owner, r *events.Reading, at events.Time) {
	n := line{at: at, ref: f.ref}
	if b := r.Billing; b != nil && (b.Plan != events.PlanUnknown || b.PeriodEnd != 0) {
		n.billed, n.plan, n.period = true, b.Plan, b.PeriodEnd
	}
	if c := r.Credit; c != nil {
		n.room = c.Available == events.Yes || c.Reached == events.No && c.Available != events.No
	}
	if !n.billed && !n.room {
		return
	}
	l := f.write(o)
	if l.record().note(n) {
		f.refreeze(l, at)
		*o.gen++
	}
}

// refreeze lets a reading that arrives late have its part in the facts that
// were answered after it, as if it had come in time; and in payment walls that
// it comes after, if it shows credit.
func (f *fold) refreeze(l *layer, at events.Time) {
	for i := range l.places {
		for j := range l.places[i].facts {
			if n := &l.places[i].facts[j]; n.kind == quota && n.at >= at || n.kind == payment {
				l.change(f.a, l.places[i].key).freeze(j, l.tape, at)
			}
		}
	}
}

func (p *place) freeze(i int, t *tape, at events.Time) {
	n := &p.facts[i]
	switch {
	case n.kind == quota:
		n.frozen = t.latestReset(p.key, n.at)
	case at <= n.at:
		n.frozen = t.periodEnd(n.at)
	default:
		if room := t.creditAfter(n.at); room != 0 && (n.room == 0 || room < n.room) {
			n.room = room
		}
	}
}

// ended is the newest end of claims in a scope: a success or a release.
func (l *layer) ended(k key) events.Time {
	p := l.at(k)
	return max(p.newestSuccess(), l.releasedAt(p))
}

// releasedAt is the newest release that covers a scope.
func (l *layer) releasedAt(p *place) events.Time {
	var t events.Time
	if p != nil {
		t = p.released
	}
	if len(l.places) > 0 && l.places[0].key.wide() {
		t = max(t, l.places[0].released)
	}
	return t
}
