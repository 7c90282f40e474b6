package story

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// judged is a verdict with its cells, taken while the view stood, and its
// references already turned into positions.
type judged struct {
	account string
	path    admission.Path
	verdict admission.Verdict
	cells   []admission.CellReport
	chosen  bool
	limit   int64 // max_concurrent
	weight  int64
	tier    int
}

// Lookup finds an event by its position, nil when it cannot be found.
type Lookup func(events.Position) *events.Event

// resolve turns the references of a verdict into positions; own are the
// writer's events that were pending then.
func (j *judged) resolve(own []events.Event) {
	fix := func(r *events.Ref) {
		if *r >= 0 {
			return
		}
		seq := uint64(-*r)
		*r = 0
		for i := range own {
			if own[i].WriterSeq == seq {
				*r = events.Ref(own[i].Position)
			}
		}
	}
	fix(&j.verdict.Evidence)
	for i := range j.cells {
		for k := range j.cells[i].Evidence {
			fix(&j.cells[i].Evidence[k])
		}
	}
}

// shape is the contract's verdict, with its sentence as of an instant.
func (j *judged) shape(look Lookup, at events.Time, word string) Verdict {
	v := &j.verdict
	out := Verdict{
		Admitted: v.Admitted, Trial: v.Trial, State: v.State.String(), Reason: v.Reason.String(),
		Axis: v.Axis.String(), Scope: v.Scope.String(),
		Since: v.Since, SlotEnd: v.SlotEnd, Step: v.Step,
		Cells: []Cell{}, Evidence: []Evidence{},
	}
	out.Until, out.Reset, out.TrialAt = j.times()
	for i := range j.cells {
		out.Cells = append(out.Cells, cellShape(&j.cells[i]))
	}
	t := teller{j: j, look: look, at: at, before: word}
	for _, p := range j.positions() {
		if e := look(p); e != nil {
			out.Evidence = append(out.Evidence, EvidenceOf(e))
		}
	}
	out.Sentence = t.sentence()
	return out
}

// times are until when the verdict holds, the provider's own reset where it
// named one, and when we test. What an operator has done ends by no test: other
// evidence that stands beside it tells nothing of when the path is free.
func (j *judged) times() (until, reset, trialAt events.Time) {
	v := &j.verdict
	switch v.Reason {
	case events.ReasonDrained:
		return 0, 0, 0
	case events.ReasonParkedByOperator:
		until = j.parkEnd()
		return until, 0, until
	}
	for i := range j.cells {
		if c := &j.cells[i]; c.Blocking {
			reset = max(reset, c.Reset)
		}
	}
	return v.Until, reset, v.TrialAt
}

// parkEnd is when an operator's park ends, whatever else is in the way.
func (j *judged) parkEnd() events.Time {
	end := events.Time(0)
	for i := range j.cells {
		if c := &j.cells[i]; c.Blocking && c.Cell.Axis == events.AxisOperator {
			end = max(end, c.Until)
		}
	}
	return end
}

// positions lists the events behind the verdict, the deciding one first.
func (j *judged) positions() []events.Position {
	var out []events.Position
	add := func(r events.Ref) {
		if r <= 0 {
			return
		}
		for _, p := range out {
			if p == events.Position(r) {
				return
			}
		}
		out = append(out, events.Position(r))
	}
	add(j.verdict.Evidence)
	for _, blocking := range []bool{true, false} {
		for i := range j.cells {
			if j.cells[i].Blocking == blocking {
				for _, r := range j.cells[i].Evidence {
					add(r)
				}
			}
		}
	}
	return out
}

func cellShape(c *admission.CellReport) Cell {
	out := Cell{Axis: c.Cell.Axis.String(), Scope: c.Cell.Scope.String(), State: c.State, Reason: c.Reason.String(),
		Blocking: c.Blocking, Since: c.Since, Until: c.Until, Reset: c.Reset, TrialAt: c.TrialAt, SlotEnd: c.SlotEnd, Step: c.Step, Evidence: []events.Position{}}
	for _, r := range c.Evidence {
		if r > 0 {
			out.Evidence = append(out.Evidence, events.Position(r))
		}
	}
	return out
}

// EvidenceOf describes an event as evidence.
func EvidenceOf(e *events.Event) Evidence {
	return Evidence{Position: e.Position, Type: e.Data.Kind().String(), ObservedAt: factTime(e), Account: e.Account, Source: sourceOf(e), Summary: Summary(e)}
}

// factTime is when the fact that an event holds was so.
func factTime(e *events.Event) events.Time {
	switch p := e.Data.(type) {
	case *events.AttemptSucceeded:
		if p.Answer.AnsweredAt != 0 {
			return p.Answer.AnsweredAt
		}
	default:
		if f, ok := events.FailureOf(e.Data); ok {
			return answeredAt(e, f)
		}
	}
	return e.ObservedAt
}

// sourceOf is where the fact came from.
func sourceOf(e *events.Event) string {
	switch p := e.Data.(type) {
	case *events.QuotaFetched:
		return p.Source
	case *events.AttemptSucceeded:
		return "answer"
	default:
		if _, ok := events.FailureOf(e.Data); ok {
			return "answer"
		}
		if _, a := operator(p); a != nil {
			return "operator " + a.Actor
		}
	}
	return "waybill"
}
