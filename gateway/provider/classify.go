package provider

import (
	"fmt"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider/when"
)

// Look is an answer together with its error body in one shape: what rows see.
type Look struct {
	*Answer
	Provider *Provider
	Env      Envelope
	Code     int // the status that counts: the answer's, else the one in its body; 0 inside a stream that names none
	clock    when.Clock
}

// Classify says what an answer means, by this provider's table. It is pure and
// total: any bytes give a class.
func (p *Provider) Classify(a Answer) Finding {
	l := p.look(&a)
	if f, ok := l.first(edge(), rankStatus+1); ok {
		return f
	}
	if f, ok := l.first(p.Rules, ranks); ok {
		return f
	}
	return l.fallback()
}

func (p *Provider) look(a *Answer) *Look {
	if a.Header == nil {
		a.Header = http.Header{}
	}
	l := &Look{Answer: a, Provider: p, Env: Normalise(a)}
	l.clock = when.Clock{At: a.At, Date: when.DateOf(a.Header)}
	l.Code = a.Status
	if a.Status < 400 {
		l.Code = l.Env.Status
	}
	return l
}

// first finds the deciding row: by rank, then in the table's order.
func (l *Look) first(rules []Rule, below rank) (Finding, bool) {
	for at := rankPolicy; at < below; at++ {
		for i := range rules {
			if r := &rules[i]; r.rank() == at && r.matches(l) {
				return l.finding(r), true
			}
		}
	}
	return Finding{}, false
}

func (l *Look) finding(r *Rule) Finding {
	f := Finding{Class: r.Class, Rule: r.ID, Failover: r.Failover, Permanent: r.Permanent}
	f.Hint = l.hint(r.Resets, r.Class)
	if f.Hint == nil {
		f.Hint = l.hint(statedAnyway(r.Class), r.Class)
	}
	if r.BySize > 0 && f.Class == events.ClassRateLimited && f.Hint != nil && f.Hint.Until.Sub(l.At) >= r.BySize {
		f.Class = events.ClassWindowExhausted
	}
	if r.ScopeOf != nil {
		f.Scope = r.ScopeOf(l)
	}
	if f.Scope.Kind == events.ScopeUnset {
		f.Scope = l.scope(r.Scope, f.Class)
	}
	return f
}

// statedAnyway is where a reset may stand that the row does not know of: what an
// answer states counts (R7, R8), whoever sends it.
func statedAnyway(c events.Class) []Reset {
	switch c {
	case events.ClassRateLimited:
		return append(RetryAfter(), SpentBucket())
	case events.ClassWindowExhausted, events.ClassCreditsExhausted, events.ClassOverloaded, events.ClassServerError:
		return RetryAfter()
	}
	return nil
}

// fallback is what a status means where no row does.
func (l *Look) fallback() Finding {
	f := Finding{Rule: fmt.Sprintf(statusRule+"%d", l.Code), Class: classOfStatus(l.Code)}
	if l.Code == 0 {
		f.Rule = statusRule + "none"
	}
	switch f.Class {
	case events.ClassRateLimited, events.ClassCreditsExhausted, events.ClassServerError, events.ClassOverloaded:
		f.Hint = l.hint(anyReset(), f.Class)
	}
	f.Scope = l.scope(events.ScopeUnset, f.Class)
	return f
}

// classOfStatus is ADMISSION's "class before status": it decides only where no
// row does. 0 is an error frame that names no status.
func classOfStatus(status int) events.Class {
	switch status {
	case http.StatusUnauthorized:
		return events.ClassAuthFailed
	case http.StatusPaymentRequired:
		return events.ClassCreditsExhausted
	case http.StatusForbidden:
		return events.ClassUnclassified
	case http.StatusNotFound:
		return events.ClassNotFound
	case http.StatusRequestTimeout:
		return events.ClassServerError
	case http.StatusTooManyRequests:
		return events.ClassRateLimited
	case 529:
		return events.ClassOverloaded
	}
	switch {
	case status == 0 || status >= 500:
		return events.ClassServerError
	case status >= 400:
		return events.ClassInvalidRequest
	}
	return events.ClassMalformed // a redirect or an informational answer is none
}

// scope fills in what a row leaves open, and falls back to the narrower scope
// where a name is missing: never wider than the evidence.
func (l *Look) scope(k events.ScopeKind, c events.Class) events.Scope {
	if k == events.ScopeUnset {
		k = scopeByClass(c)
	}
	if k == events.ScopeFamily {
		if f := l.Provider.familyOf(l.Model); f != "" {
			return events.Scope{Kind: k, Name: f}
		}
		k = events.ScopeModel
	}
	if k == events.ScopeModel {
		if l.Model == "" {
			return events.Scope{Kind: events.ScopeRequest}
		}
		return events.Scope{Kind: k, Name: l.Model}
	}
	return events.Scope{Kind: k}
}

// scopeByClass is the scope of an answer that names none (R7, R8, R11, R12).
func scopeByClass(c events.Class) events.ScopeKind {
	switch c {
	case events.ClassRateLimited, events.ClassModelUnsupported:
		return events.ScopeModel
	case events.ClassInvalidRequest, events.ClassPolicyRefused, events.ClassNotFound, events.ClassUnclassified,
		events.ClassMalformed, events.ClassSuccess:
		return events.ScopeRequest
	}
	return events.ScopeAccount
}

// edge are the rows that stand before every table: what the host's edge says,
// not the provider's API.
func edge() []Rule {
	html := func(l *Look) bool { return l.Env.Kind == HTML }
	return []Rule{
		{ID: "edge.challenge", Headers: []HeaderIs{{Name: "Cf-Mitigated", Equals: "challenge"}},
			Class: events.ClassForbidden, Scope: events.ScopeEndpoint, Failover: OtherEndpoint,
			From: "developers.cloudflare.com/cloudflare-challenges, 2026-11"},
		{ID: "edge.html-429", Statuses: []int{429}, Where: html,
			Class: events.ClassRateLimited, Scope: events.ScopeEndpoint, Resets: RetryAfter(), Failover: OtherEndpoint,
			From: "catalogue section 0.2, 2026-11", Confidence: Medium},
		{ID: "edge.html-5xx", Where: func(l *Look) bool { return html(l) && l.Code >= 500 },
			Class: events.ClassServerError, Scope: events.ScopeEndpoint, Resets: RetryAfter(),
			From: "catalogue section 0.2, 2026-11"},
	}
}
