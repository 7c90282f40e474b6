// Package provider is what Waybill knows of an upstream provider: where it is,
// how a credential is sent, and what its answers mean. A provider is data and
// pure functions; it never does I/O and never keeps state.
package provider

import (
	"net/http"

	"github.com/waybill/waybill/events"
)

// Provider is one row of the catalogue, in a directory of its own.
type Provider struct {
	ID       string
	BaseURL  string // default; same shape as the official SDK of its dialect takes
	Dialects []events.Dialect
	Auth     Auth
	EnvKey   string   // environment variable whose keys make accounts, "" for none
	Known    []string // globs of the models it serves; empty: whatever is asked
	Families []events.Family
	Headers  http.Header // sent unless the client sends its own (anthropic-version)

	// Rules is the classifier table, tried in the order of the catalogue's
	// section 0.2; a status decides alone only where no row does.
	Rules []Rule
	// InBand reads the quota headers of an answer, nil when there are none.
	InBand func(h http.Header, at events.Time) *events.Reading
	// Group learns the upstream organisation of an account from an answer.
	Group func(h http.Header) string
	// Quota is the provider's own usage or balance endpoint, nil when it has none.
	Quota *Preset
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
	// ByClass leaves it to the class (R9, R12, R17).
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
