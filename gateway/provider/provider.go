// Package provider is what Waybill knows of an upstream provider: where it is,
// how a credential is sent, and what its answers mean. A provider is data and
// pure functions; it never does I/O, never keeps state and never reads a clock.
//
// What an answer means is decided by one engine (Classify) over the provider's
// table of rules; how long an account is parked for it is not said here but by
// projections/admission alone.
package provider

import (
	"net/http"
	"strings"

	"github.com/waybill/waybill/events"
)

// Provider is one row of the catalogue, in a directory of its own.
type Provider struct {
	ID       string
	BaseURL  string           // default; same shape as the official SDK of its dialect takes; "" must be configured
	Dialects []events.Dialect // spoken at BaseURL
	Auth     Auth
	EnvKey   string   // environment variable whose keys make accounts, "" for none
	Known    []string // globs of the models it serves; empty: whatever is asked
	Families []events.Family
	Headers  http.Header // sent unless the client sends its own (anthropic-version)

	// Surfaces are further dialects, at other base URLs of the same provider and
	// with the same credential. An account with a base URL of its own has none.
	Surfaces map[events.Dialect]Surface

	// Rules is the classifier table. Policy rows come first, then rows by
	// machine code, by type or header, by prose, by status; within these in the
	// table's order. A status decides by itself only where no row does.
	Rules []Rule
	// InBand reads the quota that an answer carries (headers, an error body),
	// nil when there is none. Its windows name the scope that they gate.
	InBand func(a *Answer) *events.Reading
	// Group learns the upstream organisation of an account from an answer, nil
	// when no header names it.
	Group func(h http.Header) string
	// Quota is the provider's own usage or balance endpoint, nil when it has none.
	Quota *Preset
	// SignalsOnly: its answers can be classified, but no request can be sent to
	// it (Bedrock signs requests).
	SignalsOnly bool
}

// Surface is where a provider speaks a further dialect.
type Surface struct {
	BaseURL string
	Auth    Auth
}

// Auth says how a credential is sent.
type Auth uint8

const (
	// Bearer sends Authorization: Bearer.
	Bearer Auth = iota
	// XAPIKey sends x-api-key.
	XAPIKey
	// XGoogAPIKey sends x-goog-api-key; never ?key=, which lands in logs.
	XGoogAPIKey
	// APIKey sends api-key (Azure).
	APIKey
)

// Header is the header that carries the credential, and what precedes it there.
func (a Auth) Header() (name, prefix string) {
	switch a {
	case XAPIKey:
		return "X-Api-Key", ""
	case XGoogAPIKey:
		return "X-Goog-Api-Key", ""
	case APIKey:
		return "Api-Key", ""
	default:
		return "Authorization", "Bearer "
	}
}

// Set puts a credential into headers, in place of whatever stood there.
func (a Auth) Set(h http.Header, secret string) {
	a.Clear(h)
	name, prefix := a.Header()
	h.Set(name, prefix+secret)
}

// Clear takes every form of credential out of headers.
func (Auth) Clear(h http.Header) {
	for _, a := range [...]Auth{Bearer, XAPIKey, XGoogAPIKey, APIKey} {
		name, _ := a.Header()
		h.Del(name)
	}
}

// Answer is what a classifier looks at.
type Answer struct {
	Status  int
	Header  http.Header
	Body    []byte // the error body or error frame, at most 64 KiB
	Model   string // as sent
	Dialect events.Dialect
	At      events.Time // when it was answered: relative resets count from here
	Stream  bool        // an error frame inside a 200 stream or body
}

// Failover says whether another account may serve the same request.
type Failover uint8

const (
	// ByClass leaves it to the class (R9, R12, R17), which package routing knows.
	ByClass Failover = iota
	// Never: the request ends here.
	Never
	// OtherEndpoint: no other account of the same endpoint.
	OtherEndpoint
	// Always: another account may serve, whatever the class says.
	Always
)

// Finding is what an answer means.
type Finding struct {
	Class     events.Class
	Rule      string // row that decided, "status:429" when none did
	Scope     events.Scope
	Hint      *events.Hint
	Failover  Failover
	Permanent bool // forbidden until an operator or a new epoch
}

// ByRow says that a row of the table decided, and not the status alone.
func (f *Finding) ByRow() bool { return !strings.HasPrefix(f.Rule, statusRule) }

// statusRule begins the rule of a finding that no row decided.
const statusRule = "status:"

// familyOf is the family of a model at this provider: the first whose globs
// match, "" for none.
func (p *Provider) familyOf(model string) string {
	for _, f := range p.Families {
		if events.GlobAny(f.Models, model) {
			return f.Name
		}
	}
	return ""
}

// Reading is the quota that an answer carries, nil when there is none.
func (p *Provider) Reading(a *Answer) *events.Reading {
	if p.InBand == nil {
		return nil
	}
	return p.InBand(a)
}
