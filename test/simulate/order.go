package simulate

import (
	"slices"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// checkOrder is I11: outcomes and readings that come in another order give the
// same verdicts, now and later. What takes or frees a slot, and what changes
// the roster, keeps its place: a slot is granted by the order in the ledger. So
// does what came at one instant: of two such readings the later in the ledger
// counts (R1).
func (w *world) checkOrder() {
	log := slices.Clone(w.oracle.log)
	alone := map[events.Time]int{}
	for i := range log {
		alone[saidAt(&log[i])]++
	}
	var movable []int
	shuffle := func() {
		movable = slices.DeleteFunc(movable, func(i int) bool { return alone[saidAt(&log[i])] > 1 })
		w.rand.Shuffle(len(movable), func(i, j int) {
			log[movable[i]], log[movable[j]] = log[movable[j]], log[movable[i]]
		})
		movable = movable[:0]
	}
	for i := range log {
		switch p := log[i].Data.(type) {
		case *events.QuotaFetched, *events.AttemptSucceeded:
			movable = append(movable, i)
		case *events.AttemptRouted:
			if p.Trial != nil {
				shuffle()
			}
		case *events.PinSet, *events.PinMoved, *events.RequestRefused, *events.RequestEnded, *events.CandidatesListed, *events.GatewayStarted:
		default:
			if _, ok := events.FailureOf(p); ok {
				movable = append(movable, i)
			} else {
				shuffle()
			}
		}
	}
	shuffle()
	other := admission.New()
	for i := range log {
		other.Apply(&log[i])
	}
	w.sameVerdicts(other)
}

// saidAt is the event's own time of what it says, 0 for what says nothing of an
// account.
func saidAt(e *events.Event) events.Time {
	switch p := e.Data.(type) {
	case *events.QuotaFetched:
		return e.ObservedAt
	case *events.AttemptSucceeded:
		return p.Answer.AnsweredAt
	}
	if f, ok := events.FailureOf(e.Data); ok {
		return f.Answer.AnsweredAt
	}
	return 0
}

func (w *world) sameVerdicts(other *admission.View) {
	doc, _ := w.oracle.view.Admission.Document()
	for _, a := range other.Roster() {
		for _, later := range []time.Duration{0, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute} {
			for _, m := range append(models, "") {
				path, at := admission.Path{Account: a.No, Model: m}, w.now().Add(later)
				got, want := admission.Admit(other, path, &doc.Policy, at), admission.Admit(w.oracle.view.Admission, path, &doc.Policy, at)
				got.Valid, want.Valid = 0, 0
				if got != want {
					w.fail("I11: outcomes in another order judge %s %s in %v as %+v, as written %+v", a.ID, m, later, got, want)
				}
			}
		}
	}
}
