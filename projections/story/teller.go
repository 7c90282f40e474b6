package story

import (
	"fmt"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// teller makes the sentence of one verdict.
type teller struct {
	j      *judged
	look   Lookup
	at     events.Time // the decision's instant, or now
	before string      // "before" a decision, "ago" now
}

// sentence says whether the account may serve, else why not, on what evidence,
// and what would free it.
func (t *teller) sentence() string {
	v := &t.j.verdict
	if v.Admitted {
		return t.admitted()
	}
	cause := t.cause()
	s := t.opening() + ": " + cause
	if more := t.others(); more != "" {
		s += "; " + more
	}
	return s + "; " + t.way(cause) + "."
}

func (t *teller) opening() string {
	switch v := &t.j.verdict; {
	case t.j.chosen && v.Trial:
		return t.j.account + " was tried as a trial"
	case t.j.chosen:
		return t.j.account + " was tried although it is set aside"
	case v.Trial:
		return t.j.account + " is due for a trial"
	case t.before == ago:
		return t.j.account + " is set aside"
	}
	return t.j.account + " was skipped"
}

func (t *teller) admitted() string {
	s := t.j.account + " may serve"
	if t.before != ago {
		s = t.j.account + " was admitted"
	}
	for i := range t.j.cells {
		if c := &t.j.cells[i]; len(c.Evidence) > 0 && !c.Blocking && c.State == "clear" && c.Reason != events.ReasonNone {
			if e := t.look(events.Position(c.Evidence[0])); e != nil {
				return s + fmt.Sprintf(", although %s: it has served since", t.said(e, c.Cell)) + t.exceptions() + "."
			}
		}
	}
	return s + t.exceptions() + "."
}

// shownExceptions is how many single models an account's sentence names.
const shownExceptions = 3

// exceptions tells which single models and families an account does not serve
// that may serve: its own state does not show them.
func (t *teller) exceptions() string {
	if t.j.path.Model != "" {
		return ""
	}
	var parts []string
	for i := range t.j.cells {
		c := &t.j.cells[i]
		if (c.Cell.Scope.Kind != events.ScopeModel && c.Cell.Scope.Kind != events.ScopeFamily) || c.State == "clear" {
			continue
		}
		because := words(c.Reason.String())
		if len(c.Evidence) > 0 {
			if e := t.look(events.Position(max(c.Evidence[0], 0))); e != nil {
				because = t.said(e, c.Cell)
			}
		}
		parts = append(parts, scopeWords(c.Cell.Scope)+": "+because)
	}
	if len(parts) == 0 {
		return ""
	}
	more := ""
	if n := len(parts) - shownExceptions; n > 0 {
		parts, more = parts[:shownExceptions], fmt.Sprintf("; nor %d more models", n)
	}
	return ", but not " + strings.Join(parts, "; nor ") + more
}

// cause tells the deciding evidence.
func (t *teller) cause() string {
	v := &t.j.verdict
	switch v.Reason {
	case events.ReasonSaturated:
		if t.j.limit > 0 {
			return fmt.Sprintf("all of its %d connections were in use", t.j.limit)
		}
		return "all of its connections were in use"
	case events.ReasonAlreadyTried:
		return "this request had been sent to it before"
	case events.ReasonNotConfigured:
		return "the gateway that decided has no configuration of it"
	case events.ReasonTrialInProgress:
		if t.j.chosen {
			return t.behind()
		}
		return "one request is testing it at the moment" + prefixed(", since ", t.behind())
	}
	e := t.look(events.Position(max(v.Evidence, 0)))
	if e == nil {
		return t.withoutEvidence()
	}
	return t.said(e, events.Cell{Axis: v.Axis, Scope: v.Scope})
}

// behind tells what a path in trial is tested for.
func (t *teller) behind() string {
	for i := range t.j.cells {
		c := &t.j.cells[i]
		for _, r := range c.Evidence {
			e := t.look(events.Position(max(r, 0)))
			if e == nil {
				continue
			}
			if _, routed := e.Data.(*events.AttemptRouted); routed || e.Data.Kind() == events.KindTrialClaimed {
				continue
			}
			return t.said(e, c.Cell)
		}
	}
	return ""
}

func (t *teller) withoutEvidence() string {
	v := &t.j.verdict
	switch v.Reason {
	case events.ReasonModelUnsupported:
		return "it does not serve model " + orUnknown(t.j.path.Model)
	case events.ReasonNone:
		return "nothing is known"
	}
	return words(v.Reason.String()) + prefixed(" on axis ", v.Axis.String())
}

// said tells one piece of evidence for a cell: who said what, when.
func (t *teller) said(e *events.Event, c events.Cell) string {
	when := fmt.Sprintf("at %s (%s, event %d)", instant(factTime(e), t.at), t.aside(e), e.Position)
	if verb, a := operator(e.Data); a != nil {
		return fmt.Sprintf("operator %s %s it %s%s: %s", orUnknown(a.Actor), verb, when, t.untilOf(a.Until), orUnknown(a.Reason))
	}
	if f, ok := events.FailureOf(e.Data); ok && !claim(c, f) {
		return t.fact(f, when)
	}
	if r, _ := events.ReadingOf(e); r != nil {
		return fmt.Sprintf("%s said %s that %s", speaker(e), when, t.claimed(r, c))
	}
	return fmt.Sprintf("%s %s", Summary(e), when)
}

func (t *teller) aside(e *events.Event) string {
	s := age(factTime(e), t.at, t.before)
	if q, ok := e.Data.(*events.QuotaFetched); ok && q.Source != "" {
		s += ", source " + q.Source
	}
	if e.Account != "" && e.Account != t.j.account {
		s += ", seen at " + e.Account
	}
	return s
}

// claim says whether a failure stands behind a cell by the reading that it
// carries, rather than as the fact that it is.
func claim(c events.Cell, f *events.Failure) bool {
	if f.Answer.Reading == nil {
		return false
	}
	switch c.Axis {
	case events.AxisWindow:
		return f.Class != events.ClassWindowExhausted
	case events.AxisCredit:
		return true
	}
	return false
}

// speaker is who made a claim.
func speaker(e *events.Event) string {
	q, ok := e.Data.(*events.QuotaFetched)
	switch {
	case !ok:
		return "the headers of an answer"
	case q.Source == "push":
		return "its console"
	case q.Source == "headers":
		return "the headers of an answer"
	case q.Source == "http":
		return "its usage endpoint"
	}
	return "a reading pushed as " + orUnknown(q.Source)
}

// claimed tells what a reading says of a cell, in the reading's own numbers.
func (t *teller) claimed(r *events.Reading, c events.Cell) string {
	if c.Axis == events.AxisCredit && r.Credit != nil {
		return "its " + creditWords(r.Credit, t.at)
	}
	var parts []string
	for i := range r.Windows {
		w := &r.Windows[i]
		if w.Spent() && sameScope(w.Scope, c.Scope) {
			parts = append(parts, windowWords(w, t.at))
		}
	}
	if len(parts) == 0 {
		for i := range r.Windows {
			parts = append(parts, windowWords(&r.Windows[i], t.at))
		}
	}
	if len(parts) == 0 {
		return "nothing that it speaks of is left"
	}
	return strings.Join(parts, " and ")
}

func sameScope(a, b events.Scope) bool {
	if a.Kind == events.ScopeUnset {
		a.Kind = events.ScopeAccount
	}
	if b.Kind == events.ScopeUnset {
		b.Kind = events.ScopeAccount
	}
	// A group shares what its members say of the account.
	if a.Kind == events.ScopeAccount && b.Kind == events.ScopeGroup {
		return true
	}
	return a == b
}

// fact tells what an upstream answered.
func (t *teller) fact(f *events.Failure, when string) string {
	s := "its upstream "
	switch {
	case f.Answer.Status != 0:
		s += fmt.Sprintf("answered %d %s", f.Answer.Status, when)
	case f.Class == events.ClassTimeout:
		s += "did not answer in time " + when
	default:
		s += "could not be reached " + when
	}
	s += ": " + classWords(f)
	if f.Rule != "" {
		s += " (rule " + f.Rule + ")"
	}
	if f.Hint != nil && f.Hint.Until != 0 {
		s += ", and " + hintWords(f.Hint, t.at)
	}
	return s
}

func classWords(f *events.Failure) string {
	switch f.Class {
	case events.ClassRateLimited:
		return "too many requests at once"
	case events.ClassWindowExhausted:
		return "its quota window is spent"
	case events.ClassCreditsExhausted:
		return "its credits are spent"
	case events.ClassAuthFailed:
		return "its credential was not accepted"
	case events.ClassForbidden:
		if f.Permanent {
			return "the account may not be used any more"
		}
		return "it may not serve this"
	case events.ClassModelUnsupported, events.ClassNotFound:
		return "it does not know the model"
	}
	return words(f.Class.String())
}

func (t *teller) untilOf(u events.Time) string {
	if u == 0 {
		return ""
	}
	return " until " + instant(u, t.at)
}

// others counts the further cells that block.
func (t *teller) others() string {
	var names []string
	for i := range t.j.cells {
		c := &t.j.cells[i]
		if !c.Blocking || (c.Cell.Axis == t.j.verdict.Axis && c.Cell.Scope == t.j.verdict.Scope) {
			continue
		}
		names = append(names, fmt.Sprintf("%s of %s (%s)", c.Cell.Axis, scopeWords(c.Cell.Scope), words(c.Reason.String())))
	}
	if len(names) == 0 {
		return ""
	}
	return "also in its way: " + strings.Join(names, ", ")
}

// way says what frees the path, and when.
func (t *teller) way(cause string) string {
	v := &t.j.verdict
	if t.j.chosen {
		return "this request is the test"
	}
	switch v.Reason {
	case events.ReasonSaturated:
		return "it is free as soon as one of them ends"
	case events.ReasonAlreadyTried:
		return "a request is sent to an account once"
	case events.ReasonNotConfigured:
		return "give all gateways of this ledger the same configuration"
	case events.ReasonTrialInProgress:
		return "its next test is possible when that one is answered" + prefixed(", at the latest at ", t.known(v.SlotEnd))
	case events.ReasonDrained:
		return "`waybill undrain " + t.j.account + " --reason ...` lets it serve again"
	case events.ReasonParkedByOperator:
		return "it ends at " + instant(t.j.parkEnd(), t.at) + ", or by `waybill undrain " + t.j.account + " --reason ...`"
	}
	if v.State == admission.Disabled || v.TrialAt == 0 {
		return "only `waybill release " + t.j.account + " --reason ...` or a new credential lets it serve again"
	}
	return t.byTime(cause)
}

func (t *teller) byTime(cause string) string {
	v := &t.j.verdict
	due := v.Trial || v.TrialAt <= t.at
	verb := "Waybill tests it with one request from " + instant(v.TrialAt, t.at) + " on"
	if due {
		verb = "one request may test it now"
	}
	switch v.Axis {
	case events.AxisWindow, events.AxisCredit:
		if v.OnClaims && !due {
			return "Waybill stops trusting that at " + instant(v.TrialAt, t.at) + ", or when a request to it succeeds"
		}
	case events.AxisAuth:
		return verb + ", or when its credential changes"
	case events.AxisHealth, events.AxisRate:
		if !due {
			return "it cools down until " + instant(v.TrialAt, t.at)
		}
	}
	return verb + t.patience(cause)
}

// patience adds the provider's own reset, where it is later than the test and
// has not been told.
func (t *teller) patience(cause string) string {
	_, reset, _ := t.j.times()
	until := instant(reset, t.at)
	if reset <= t.j.verdict.TrialAt || strings.Contains(cause, until) {
		return ""
	}
	return " (its reset is " + until + ")"
}

func (t *teller) known(at events.Time) string {
	if at == 0 {
		return ""
	}
	return instant(at, t.at)
}
