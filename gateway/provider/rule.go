package provider

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// Confidence is how well a row is supported.
type Confidence uint8

const (
	// High: read in provider-owned source or docs, or in several independent
	// parsers that agree.
	High Confidence = iota
	// Medium: one good third-party parser, or an official page seen in part.
	Medium
	// Low: a single anecdote or general knowledge. Overridable in the config.
	Low
)

var confidenceNames = [...]string{"high", "medium", "low"}

// String is high, medium or low.
func (c Confidence) String() string { return confidenceNames[c] }

// Source says where a row comes from and when that was read: "NAME, YYYY-MM".
type Source string

// Rule is one row of a classifier table: what it looks for (all members that
// are set must hold) and what that means. Its id names it in events, tests,
// docs/providers.md and `why`.
type Rule struct {
	ID string

	Statuses []int    // any of; of the answer, else the one that the body repeats
	Codes    []string // any of the envelope's machine codes, lower case
	Types    []string // any of the envelope's types and status words, lower case
	Quotas   []string // contained in the name of a quota that was violated, lower case
	Phrases  []string // any of them contained in the message, lower case
	And      []string // any of these contained in the message too
	Headers  []HeaderIs
	Where    func(*Look) bool // what no column can say; the row's comment says why
	Strict   bool             // the message must stand in a structured error, not in bare text

	Class     events.Class
	Scope     events.ScopeKind         // unset: by class, see scopeByClass
	ScopeOf   func(*Look) events.Scope // where the answer names it; unset result: Scope
	Resets    []Reset                  // the first that is usable counts
	BySize    time.Duration            // rate_limited becomes window_exhausted from a stated wait of this on; 0: never
	Failover  Failover
	Permanent bool

	Confidence Confidence
	From       Source
}

// HeaderIs is a predicate over one header. Values are compared in lower case.
type HeaderIs struct {
	Name     string
	Equals   string // "" : any value, the header must be there
	Contains string
}

func (h HeaderIs) holds(l *Look) bool {
	v := strings.ToLower(l.Header.Get(h.Name))
	if v == "" || h.Equals != "" && v != h.Equals {
		return false
	}
	return strings.Contains(v, h.Contains)
}

// rank is the order of section 0.2 of the catalogue: policy before penalty,
// then a specific code before a type before prose before a status.
type rank uint8

const (
	rankPolicy rank = iota
	rankCode
	rankType
	rankProse
	rankStatus
	ranks
)

func (r *Rule) rank() rank {
	switch {
	case r.Class == events.ClassPolicyRefused:
		return rankPolicy
	case len(r.Codes) > 0:
		return rankCode
	case len(r.Types) > 0 || len(r.Headers) > 0 || len(r.Quotas) > 0 || r.Where != nil:
		return rankType
	case len(r.Phrases) > 0:
		return rankProse
	}
	return rankStatus
}

// matches says that all of the row's conditions hold.
func (r *Rule) matches(l *Look) bool {
	switch {
	case !r.statusHolds(l), r.belies(l),
		len(r.Codes) > 0 && !intersects(r.Codes, l.Env.Codes),
		len(r.Types) > 0 && !intersects(r.Types, l.Env.Types),
		len(r.Quotas) > 0 && !l.Env.violates(r.Quotas),
		len(r.Phrases) > 0 && !says(l.Env.Message, r.Phrases),
		len(r.And) > 0 && !says(l.Env.Message, r.And),
		r.Strict && l.Env.Loose:
		return false
	}
	for _, h := range r.Headers {
		if !h.holds(l) {
			return false
		}
	}
	return r.Where == nil || r.Where(l)
}

// statusHolds: an error frame inside a 200 has no status of its own unless its
// body repeats one; then the other conditions decide alone.
func (r *Rule) statusHolds(l *Look) bool {
	if len(r.Statuses) == 0 {
		return true
	}
	if l.Code == 0 {
		return r.rank() != rankStatus
	}
	return slices.Contains(r.Statuses, l.Code)
}

// belies: a status that speaks of the account is no fault of the server's,
// whatever general type its body repeats (api_error under a 402). A row that
// names its statuses knows better.
func (r *Rule) belies(l *Look) bool {
	if r.Class != events.ClassServerError || len(r.Statuses) > 0 {
		return false
	}
	switch l.Code {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusTooManyRequests:
		return true
	}
	return false
}

func intersects(want, have []string) bool {
	for _, h := range have {
		if slices.Contains(want, h) {
			return true
		}
	}
	return false
}

func says(message string, phrases []string) bool {
	for _, p := range phrases {
		if strings.Contains(message, p) {
			return true
		}
	}
	return false
}
