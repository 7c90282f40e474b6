package inquiry

import (
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/story"
)

// Skip is why an account was kept out of a request.
type Skip struct {
	Account  string
	Reason   string          // "" where the decision that holds it cannot be found
	Evidence events.Position // the deciding event; 0: the reason needs none
}

// Skips are the reasons behind a row's skipped accounts, as its decisions
// recorded them: the first of each account. name gives an account's id by its
// roster number.
func Skips(look story.Lookup, row *story.Row, name func(uint32) string) []Skip {
	out := make([]Skip, len(row.Skipped))
	for i, id := range row.Skipped {
		out[i].Account = id
	}
	open := len(out) // those whose reason is not found yet
	for _, at := range row.Decisions {
		if open == 0 {
			break
		}
		e := look(at)
		if e == nil {
			continue
		}
		for _, v := range verdicts(look, e) {
			i := slices.Index(row.Skipped, name(v.Account))
			if i < 0 || out[i].Reason != "" || !v.Reason.Skips() {
				continue
			}
			open--
			out[i].Reason = v.Reason.String()
			if d := referred(look, e, v.Evidence); d != nil {
				out[i].Evidence = d.Position
			}
		}
	}
	return out
}

// verdicts are a decision's, its own or those of the list that it refers to.
func verdicts(look story.Lookup, e *events.Event) []events.Verdict {
	var own []events.Verdict
	var list events.Ref
	switch p := e.Data.(type) {
	case *events.AttemptRouted:
		own, list = p.Skipped, p.Listed
	case *events.RequestRefused:
		own, list = p.Verdicts, p.Listed
	}
	if list == 0 {
		return own
	}
	if found := referred(look, e, list); found != nil {
		if p, ok := found.Data.(*events.CandidatesListed); ok {
			return p.Verdicts
		}
	}
	return nil
}

// nearby bounds the search for an event that was pending when it was referred to.
const nearby = 256

// referred is the event behind a reference: one that was pending then stands, as
// its writer's events are in order, at most so many of its own events before.
func referred(look story.Lookup, e *events.Event, ref events.Ref) *events.Event {
	if ref >= 0 {
		return look(events.Position(ref))
	}
	for at := e.Position - 1; at > 0 && e.Position-at <= nearby; at-- {
		d := look(at)
		if d == nil {
			return nil
		}
		if d.Writer == e.Writer && d.WriterSeq == uint64(-ref) {
			return d
		}
		if d.Writer == e.Writer && d.WriterSeq < uint64(-ref) {
			return nil
		}
	}
	return nil
}
