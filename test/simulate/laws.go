package simulate

import (
	"bytes"
	"context"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/audit"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/routing"
)

// laws are what must hold, and what they have to remember. They know what went
// in and what came out, not how the views are made.
type laws struct {
	w *world

	slots    map[slotKey]*slot // trials as they were dispatched
	accounts map[string]*account
	times    []events.Time // of each commit, by position
	whole    map[*process]events.Time

	owed struct { // what clients were told, and the ledger must have in the end
		answered []try
		refused  []*request
	}
	acked, refused, trials, crashes, outages int
}

func newLaws(w *world) laws {
	l := laws{w: w, slots: map[slotKey]*slot{}, accounts: map[string]*account{}, whole: map[*process]events.Time{}}
	for i := range w.accounts {
		l.accounts[w.accounts[i].ID] = newAccount()
	}
	return l
}

// dear is how often the checks that cost are made, in steps.
const dear = 8

// check is made after every step: the cheap laws always, the dear ones now and
// then.
func (w *world) check() {
	if w.failure != nil {
		return
	}
	w.checkVerdicts()
	w.laws.lag()
	if w.step%dear == 0 {
		w.checkFolds()
		w.checkEvidence()
	}
}

// checkFolds is I1: a live committed view is the fold from zero of the ledger up
// to its position, byte for byte.
func (w *world) checkFolds() {
	now := w.oracle.state()
	for _, g := range w.gates {
		if g.proc == nil || g.proc.engine == nil {
			continue
		}
		state, at := committed(g.proc.engine)
		want := now
		if at != w.oracle.at() {
			want = w.oracle.upTo(at).state()
		}
		if !bytes.Equal(state, want) {
			w.fail("I1: the views of g%d at position %d are not the fold from zero", g.no, at)
		}
	}
}

func committed(e *engine.Engine) (state []byte, at events.Position) {
	for { // two looks: what was committed between them makes a third
		e.View(func(v routing.View, p events.Position, _ events.Time) {
			at = p
			state = v.Pins.AppendState(v.Admission.AppendState(nil))
		})
		var again events.Position
		e.Requests(func(v *requests.View, p events.Position) {
			again = p
			state = v.AppendState(state)
		})
		if again == at {
			return state, at
		}
	}
}

// upTo folds the ledger from zero.
func (o *oracle) upTo(at events.Position) *folded {
	v := newFolded()
	for i := range o.log[:at] {
		v.live.Commit(o.log[i : i+1])
	}
	return v
}

// checkVerdicts looks at every path: I2 and I3.
func (w *world) checkVerdicts() {
	now := w.now()
	doc, _ := w.oracle.view.Admission.Document()
	for _, a := range w.oracle.view.Admission.Roster() {
		for _, m := range models {
			path := admission.Path{Account: a.No, Model: m}
			v := admission.Admit(w.oracle.view.Admission, path, &doc.Policy, now)
			w.laws.verdict(a, m, &v, &doc.Policy, now)
		}
	}
}

// checkAgreement: with all at rest every gateway judges as a fold from zero.
func (w *world) checkAgreement() {
	w.checkFolds()
	zero := w.oracle.upTo(w.oracle.at())
	if !bytes.Equal(zero.state(), w.oracle.state()) {
		w.fail("I13: views that were asked differ from views that were not")
	}
	for _, g := range w.gates {
		if g.proc == nil || g.proc.engine == nil {
			w.fail("g%d is not up at the end", g.no)
			continue
		}
		e := g.proc.engine
		if n := e.Unsettled(); n != 0 || e.Position() != w.oracle.at() {
			w.fail("g%d has %d events unsettled and stands at %d of %d, with all at rest", g.no, n, e.Position(), w.oracle.at())
			return
		}
		e.View(func(v routing.View, _ events.Position, now events.Time) { w.compare(g, v, zero, now) })
	}
}

func (w *world) compare(g *gateway, v routing.View, zero *folded, now events.Time) {
	doc, _ := v.Admission.Document()
	for _, a := range v.Admission.Roster() {
		for _, m := range append(models, "") {
			path := admission.Path{Account: a.No, Model: m}
			got, want := admission.Admit(v.Admission, path, &doc.Policy, now), admission.Admit(zero.view.Admission, path, &doc.Policy, now)
			got.Valid, want.Valid = 0, 0
			if got != want {
				w.fail("I8: g%d judges %s %s as %+v, rebuilt views as %+v", g.no, a.ID, m, got, want)
			}
		}
	}
}

// acknowledged: a client has got an answer; its decision must be in the ledger,
// or on the gateway's own disk until it is there.
func (l *laws) acknowledged(r *request, refusal bool) {
	l.w.observe()
	disk := r.proc.gate.disk
	if refusal {
		l.refused++
		l.owed.refused = append(l.owed.refused, r)
		if l.w.oracle.refused[r.id] == 0 && !spooled(disk, r.id, r.ask.Attempt, events.KindRequestRefused) {
			l.w.fail("I6: request %d was refused and has no row", r.no)
		}
		return
	}
	l.acked++
	k := try{r.id, r.lastTry}
	l.owed.answered = append(l.owed.answered, k)
	if l.w.oracle.routed[k] == 0 && !spooled(disk, r.id, r.lastTry, events.KindAttemptRouted) {
		l.w.fail("output commit: request %d got an answer whose decision is not durable", r.no)
	}
}

// delivered: what was told to clients is in the ledger in the end, wherever it
// was kept meanwhile.
func (l *laws) delivered() {
	for _, k := range l.owed.answered {
		if l.w.oracle.routed[k] == 0 {
			l.w.fail("delivery: the decision of an answered attempt %d never came to the ledger", k.attempt)
		}
	}
	for _, r := range l.owed.refused {
		if l.w.oracle.refused[r.id] == 0 {
			l.w.fail("delivery: the refusal of request %d never came to the ledger", r.no)
		}
	}
}

// atTheEnd are the laws of a whole history: I4, I9, and that every decision is
// derived again alike.
func (l *laws) atTheEnd() {
	w := l.w
	l.delivered()
	w.checkOrder()
	for k, at := range w.oracle.routed {
		if w.oracle.ended[k] == 0 {
			w.fail("I4: the attempt at %d has no outcome", at)
		}
	}
	if n := len(w.oracle.requests.OpenWriters()); n > 0 {
		w.fail("I4: %d writers have left requests open", n)
	}
	v, err := ledger.Verify(context.Background(), w.desk.store, ledger.VerifyOptions{})
	if err != nil || v.Fault != nil {
		w.fail("I9: %v %v", err, v.Fault)
	}
	auditor := audit.New(audit.Options{Held: 1 << 12})
	for i := range w.oracle.log {
		if err := auditor.Apply(&w.oracle.log[i]); err != nil {
			w.fail("audit: %v", err)
			return
		}
	}
	if r := auditor.Report(); r.Faulty > 0 {
		w.fail("a decision is derived differently: %s at %d", r.Faults[0].Detail, r.Faults[0].Position)
	}
}
