package audit

import (
	"fmt"
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
)

// listsKept bounds the remembered lists of more than 16 candidates; an older one
// is read again.
const listsKept = 4096

// Recorded is a stored decision with its list of candidates.
type Recorded struct {
	Stamp    *events.Stamp
	Verdicts []events.Verdict // those not chosen, or all of a refusal
	Routed   *events.AttemptRouted
	Refused  *events.RequestRefused

	bare   events.Payload   // without the reference to a stored list
	listed []events.Verdict // the stored list, nil when it has none
}

func (a *Auditor) recorded(e *events.Event) (r Recorded, err error) {
	switch p := e.Data.(type) {
	case *events.AttemptRouted:
		bare := *p
		bare.Listed = 0
		r = Recorded{Stamp: &p.Stamp, Verdicts: p.Skipped, Routed: p, bare: &bare}
		if p.Listed != 0 {
			r.listed, err = a.listed(e, p.Listed)
			r.Verdicts = without(r.listed, p.Chosen)
		}
		return r, err
	case *events.RequestRefused:
		bare := *p
		bare.Listed = 0
		r = Recorded{Stamp: &p.Stamp, Verdicts: p.Verdicts, Refused: p, bare: &bare}
		if p.Listed != 0 {
			r.listed, err = a.listed(e, p.Listed)
			r.Verdicts = r.listed
		}
		return r, err
	}
	return r, fmt.Errorf("%s is no decision", e.Data.Kind())
}

// derivedPayload is the event that the derivation would have recorded, nil when
// it would have recorded one of another type.
func derivedPayload(c *Case) events.Payload {
	refuse := c.Derived.Action == routing.Refuse
	switch {
	case c.Recorded.Routed != nil && !refuse:
		return c.Derived.Routed(&c.Stamp)
	case c.Recorded.Refused != nil && refuse:
		return c.Derived.Refused(&c.Stamp)
	}
	return nil
}

// derivedList is the list that the derivation would have stored apart.
func derivedList(c *Case) []events.Verdict {
	if !c.Derived.Long() {
		return nil
	}
	return c.Derived.Verdicts()
}

// danglingError: a decision refers to a list that is not there. That is a fault
// of the ledger, not of the audit.
type danglingError string

func (e danglingError) Error() string { return string(e) }

// listed finds the stored list that a decision refers to.
func (a *Auditor) listed(e *events.Event, ref events.Ref) ([]events.Verdict, error) {
	if v, ok := a.lists.Find(e.Writer, ref); ok {
		return v, nil
	}
	switch {
	case ref < 0:
		return nil, danglingError(fmt.Sprintf("its list of candidates, number %d of its writer, is not before it", -ref))
	case events.Position(ref) >= e.Position:
		return nil, danglingError(fmt.Sprintf("its list of candidates at %d is not before it", ref))
	}
	return a.listAgain(events.Position(ref))
}

// listAgain reads a list that is not remembered any more.
func (a *Auditor) listAgain(at events.Position) ([]events.Verdict, error) {
	if a.o.Read == nil {
		return nil, fmt.Errorf("candidates listed at %d: %w", at, ErrUnreachable)
	}
	var found []events.Verdict
	err := a.o.Read(at-1, at, func(e *events.Event) error {
		p, ok := e.Data.(*events.CandidatesListed)
		if !ok {
			return danglingError(fmt.Sprintf("a %s stands at %d where its candidates should be listed", e.Data.Kind(), at))
		}
		found = p.Verdicts
		a.lists.Add(e, p.Verdicts)
		return nil
	})
	return found, err
}

// without is a list without the first entry of an account: it may stand in
// several tiers.
func without(list []events.Verdict, account uint32) []events.Verdict {
	i := slices.IndexFunc(list, func(v events.Verdict) bool { return v.Account == account })
	if i < 0 {
		return list
	}
	return slices.Concat(list[:i], list[i+1:])
}
