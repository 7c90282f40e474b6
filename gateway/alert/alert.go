// Package alert says what a person should be told: that an account is set
// aside, that nobody may serve a model, that the ledger is away. The first are
// judgements, so no event says them: they are found by folding, by comparing what
// stands before an event with what stands after it. It sends nothing and must
// not know who is told.
package alert

import (
	"crypto/sha256"
	"fmt"
	"net/url"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/story"
)

// Kind is what an alert is about.
type Kind string

// The kinds.
const (
	Parked    Kind = "account_parked"         // evidence keeps an account out that did not before
	Exhausted Kind = "all_accounts_exhausted" // a request for a model was refused, the one before was not
	Payment   Kind = "payment_required"       // an account met a 402 and had met none since it last served
	Spooling  Kind = "spooling"               // this process keeps events that the ledger does not take
	Broken    Kind = "chain_broken"           // the ledger is not what it was
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{Parked, Exhausted, Payment, Spooling, Broken} }

// Alert is what is told. Those that the ledger tells of have a position, and
// their id follows from it: one that is told again has the same.
type Alert struct {
	ID       uuid.UUID        `json:"id"`
	Kind     Kind             `json:"alert"`
	Sentence string           `json:"sentence"` // for people
	At       events.Time      `json:"at"`
	Account  string           `json:"account,omitempty"`
	Model    string           `json:"model,omitempty"`
	Axis     string           `json:"axis,omitempty"`
	Scope    string           `json:"scope,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Until    events.Time      `json:"until,omitempty"`    // the provider's own reset
	TrialAt  events.Time      `json:"trial_at,omitempty"` // when Waybill is willing to test
	Request  *uuid.UUID       `json:"request,omitempty"`
	Position events.Position  `json:"position,omitempty"` // of the event that brought it about
	Evidence []story.Evidence `json:"evidence"`
	Links    []string         `json:"links"` // paths of the admin API: the evidence, then what stands now
}

// New is an alert of this process, which no event tells of.
func New(kind Kind, at events.Time, sentence string) Alert {
	return Alert{ID: uuid.Must(uuid.NewV7()), Kind: kind, At: at, Sentence: sentence, Evidence: []story.Evidence{}, Links: []string{"/readyz", "/api/v1/ledger"}}
}

// of is an alert that an event brought about. which tells apart several of one event.
func of(kind Kind, e *events.Event, which string) Alert {
	a := Alert{Kind: kind, At: e.ObservedAt, Account: e.Account, Model: e.Model, Position: e.Position, Evidence: []story.Evidence{}}
	h := sha256.Sum256([]byte(string(kind) + "\x00" + which + "\x00" + e.ID.String()))
	copy(a.ID[:], h[:])
	a.ID[6], a.ID[8] = a.ID[6]&0x0f|0x80, a.ID[8]&0x3f|0x80 // a UUID of version 8: of one's own making
	if e.Request != uuid.Nil {
		a.Request = &e.Request
	}
	return a
}

// link adds the paths of what the alert rests on.
func (a *Alert) link() {
	for i := range a.Evidence {
		a.Links = append(a.Links, fmt.Sprintf("/api/v1/events?after=%d&limit=1", a.Evidence[i].Position-1))
	}
	if a.Account != "" {
		a.Links = append(a.Links, fmt.Sprintf("/api/v1/accounts/%s?position=%d", url.PathEscape(a.Account), a.Position))
	}
	if a.Request != nil {
		a.Links = append(a.Links, "/api/v1/requests/"+a.Request.String())
	}
}
