package story

import (
	"fmt"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// Summary says in one line what an event is about, its account and time apart.
func Summary(e *events.Event) string {
	switch p := e.Data.(type) {
	case *events.GatewayStarted:
		return fmt.Sprintf("gateway %s started, having folded %d events", p.Version, p.Folded)
	case *events.AccountEnrolled:
		return "enrolled at " + settings(&p.Settings)
	case *events.AccountChanged:
		return fmt.Sprintf("changed (%s), now at %s", p.Cause, settings(&p.Settings))
	case *events.AccountRetired:
		return joined("retired", p.Cause)
	case *events.PolicyAdopted:
		return fmt.Sprintf("policy %s adopted: %s, %s", short(p.Digest), Count(len(p.Document.Models), "model name"), Count(len(p.Document.Clients), "client"))
	case *events.QuotaFetched:
		return readingSummary(&p.Reading, e.ObservedAt)
	case *events.QuotaFetchFailed:
		return fmt.Sprintf("no reading from source %s: %s%s", p.Source, status(p.Status, "no answer"), prefixed(", ", p.Error))
	}
	return requestSummary(e)
}

// requestSummary is Summary for the events of requests, trials, pins and operators.
func requestSummary(e *events.Event) string {
	switch p := e.Data.(type) {
	case *events.AttemptRouted:
		return routedSummary(e, p)
	case *events.AttemptSucceeded:
		return succeededSummary(p)
	case *events.RequestRefused:
		return fmt.Sprintf("refused with %d %s%s", p.Status, p.Code, retryAfter(p.RetryAfter, p.RetrySource))
	case *events.CandidatesListed:
		return "list of " + Count(len(p.Verdicts), "candidate")
	case *events.TrialClaimed:
		return "trial claimed for " + cells(p.Trial.Cells)
	case *events.TrialPassed:
		return "trial passed, first meaningful frame seen, for " + cells(p.Cells)
	case *events.TrialClosed:
		return fmt.Sprintf("trial closed (%s) for %s", words(p.End.String()), cells(p.Cells))
	case *events.PinSet:
		return "session " + short(p.Session) + " pinned here" + prefixed(": ", p.Cause)
	case *events.PinMoved:
		return "session " + short(p.Session) + " moved here" + prefixed(": ", words(p.Cause))
	case *events.PinReleased:
		return "session " + short(p.Session) + " released" + prefixed(": ", words(p.Cause))
	case *events.Unknown:
		return fmt.Sprintf("an event that this binary does not know (version %d)", p.Version)
	}
	if f, ok := events.FailureOf(e.Data); ok {
		return failureSummary(e, f)
	}
	if verb, a := operator(e.Data); a != nil {
		return operatorSummary(verb, a, e.ObservedAt)
	}
	return e.Data.Kind().String()
}

func operator(p events.Payload) (string, *events.OperatorAction) {
	switch p := p.(type) {
	case *events.OperatorReleased:
		return "released", &p.OperatorAction
	case *events.OperatorParked:
		return "parked", &p.OperatorAction
	case *events.OperatorDrained:
		return "drained", &p.OperatorAction
	case *events.OperatorUndrained:
		return "undrained", &p.OperatorAction
	}
	return "", nil
}

func operatorSummary(verb string, a *events.OperatorAction, at events.Time) string {
	s := verb
	if a.Until != 0 {
		s += " until " + instant(a.Until, at)
	}
	return fmt.Sprintf("%s by operator %s: %s", s, orUnknown(a.Actor), orUnknown(a.Reason))
}

func settings(s *events.Settings) string {
	out := s.Provider
	if s.Endpoint != "" {
		out += " (" + s.Endpoint + ")"
	}
	if s.Group != "" {
		out += ", group " + s.Group
	}
	return out
}

func routedSummary(e *events.Event, p *events.AttemptRouted) string {
	s := fmt.Sprintf("attempt %d routed here", e.Attempt)
	switch {
	case p.LastPath:
		s += " as the last path"
	case p.Trial != nil:
		s += " as a trial of " + cells(p.Trial.Cells)
	case p.Pinned:
		s += ", the session's pin"
	}
	if e.Model != "" {
		s += ", model " + e.Model
	}
	return s
}

func succeededSummary(p *events.AttemptSucceeded) string {
	s := fmt.Sprintf("%d after %s", p.Answer.Status, Span(p.Answer.AnsweredAt.Sub(p.Answer.DispatchedAt)))
	s += prefixed(", ", usageWords(p.Answer.Usage))
	if r := p.Answer.Reading; r != nil {
		s += "; " + readingSummary(r, p.Answer.AnsweredAt)
	}
	return s
}

func failureSummary(e *events.Event, f *events.Failure) string {
	s := fmt.Sprintf("%s, %s", status(f.Answer.Status, "no answer"), f.Class)
	if f.Rule != "" {
		s += " by rule " + f.Rule
	}
	if h := f.Hint; h != nil {
		s += "; " + hintWords(h, answeredAt(e, f))
	}
	if r := f.Answer.Reading; r != nil {
		s += "; " + readingSummary(r, answeredAt(e, f))
	}
	return s
}

// answeredAt is when a failure was answered, else when it was seen.
func answeredAt(e *events.Event, f *events.Failure) events.Time {
	if f.Answer.AnsweredAt != 0 {
		return f.Answer.AnsweredAt
	}
	return e.ObservedAt
}

func hintWords(h *events.Hint, at events.Time) string {
	s := "it named " + instant(h.Until, at)
	if h.Guessed {
		s = "Waybill read " + instant(h.Until, at) + " out of its wording"
	}
	if h.Value != "" {
		s += fmt.Sprintf(" (%s, %q)", h.Source, h.Value)
	} else if h.Source != "" {
		s += " (" + h.Source + ")"
	}
	return s
}

// readingSummary tells every window and the credit budget of a reading.
func readingSummary(r *events.Reading, at events.Time) string {
	var parts []string
	for i := range r.Windows {
		parts = append(parts, windowWords(&r.Windows[i], at))
	}
	if r.Credit != nil {
		parts = append(parts, creditWords(r.Credit, at))
	}
	if b := r.Billing; b != nil {
		parts = append(parts, "plan "+b.Plan.String())
	}
	if len(parts) == 0 {
		parts = append(parts, "a reading that tells nothing")
	}
	return strings.Join(parts, ", ") + " (source " + orUnknown(r.Source) + ")"
}

func windowWords(w *events.Window, at events.Time) string {
	s := "window " + orUnknown(w.Name)
	if w.Scope.Kind != events.ScopeUnset && w.Scope.Kind != events.ScopeAccount {
		s += " of " + scopeWords(w.Scope)
	}
	switch {
	case w.Spent():
		s += " is spent"
	case w.RemainingPercent.Set:
		s += " has " + w.RemainingPercent.V.String() + " % left"
	case w.UsedPercent.Set:
		s += " is " + w.UsedPercent.V.String() + " % used"
	case w.Used.Set && w.Limit.Set:
		s += " has used " + w.Used.V.String() + " of " + w.Limit.V.String()
	case w.Used.Set:
		s += " has used " + w.Used.V.String()
	case w.Reached == events.No:
		s += " has room"
	default:
		s += " reports nothing"
	}
	if w.ResetsAt != 0 {
		s += " until " + instant(w.ResetsAt, at)
	}
	return s
}

func creditWords(c *events.Credit, at events.Time) string {
	s := "credit budget"
	switch {
	case c.Reached == events.Yes:
		s += " is spent"
	case c.Available == events.No:
		s += " has no credit"
	case c.UsedPercent.Set:
		s += " is " + c.UsedPercent.V.String() + " % used"
	default:
		s += " has credit"
	}
	if c.ResetsAt != 0 {
		s += " until " + instant(c.ResetsAt, at)
	}
	return s
}

func usageWords(u *events.Usage) string {
	if u == nil {
		return ""
	}
	var parts []string
	add := func(n events.OptInt, one, many string) {
		switch {
		case n.Set && n.V == 1:
			parts = append(parts, "1 "+one)
		case n.Set:
			parts = append(parts, fmt.Sprintf("%d %s", n.V, many))
		}
	}
	add(u.Input, "token in", "tokens in")
	add(u.CachedInput, "of them cached", "of them cached")
	add(u.Output, "token out", "tokens out")
	s := strings.Join(parts, ", ")
	if u.Partial {
		s += " (as far as seen)"
	}
	return s
}

func retryAfter(seconds int64, source string) string {
	if seconds == 0 {
		return ", without a Retry-After because waiting alone does not help"
	}
	s := ", Retry-After " + Span(time.Duration(seconds)*time.Second)
	if source != "" {
		s += " (when " + source + " is tested again)"
	}
	return s
}

func cells(list []events.Cell) string {
	var parts []string
	for i := range list {
		parts = append(parts, list[i].Axis.String()+" of "+scopeWords(list[i].Scope))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func scopeWords(s events.Scope) string {
	switch s.Kind {
	case events.ScopeEndpoint:
		return "its endpoint"
	case events.ScopeGroup:
		return "its quota group"
	case events.ScopeFamily:
		return "model family " + s.Name
	case events.ScopeModel:
		return "model " + s.Name
	case events.ScopeNone:
		return "nothing that is routed"
	case events.ScopeRequest:
		return "this request only"
	}
	return "the account"
}

func status(code uint32, none string) string {
	if code == 0 {
		return none
	}
	return fmt.Sprint(code)
}

func short(d events.Digest) string {
	if s := d.String(); len(s) > 8 {
		return s[:8]
	}
	return "-"
}

func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func joined(a, b string) string { return a + prefixed(": ", b) }

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// Exhausted tells that nobody may serve a model, on the occasion of a refusal.
func Exhausted(e *events.Event, p *events.RequestRefused) string {
	s := fmt.Sprintf("No account may serve model %s: all %d are exhausted", orUnknown(p.Stamp.Asked), len(p.Verdicts))
	if p.Listed != 0 {
		s = fmt.Sprintf("No account may serve model %s: all are exhausted", orUnknown(p.Stamp.Asked))
	}
	if p.Earliest != 0 {
		s += "; the first is free again at " + instant(p.Earliest, e.ObservedAt)
	}
	return s + fmt.Sprintf(". Request %s was %s.", e.Request, Summary(e))
}
