package engine

import (
	"github.com/waybill/waybill/events"
)

// What an upstream stores for a client (a response that a later request
// continues, shows or deletes) ties that request to the account that made it
// (R14). It is recorded as a pin of its own: the session is the thing's digest,
// and the route is none, since only the account matters.

// Made records that this attempt's account made a thing.
func (a *Attempt) Made(thing events.Digest) {
	e := a.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	e.behind(events.Draft{Header: a.header, Data: &events.PinSet{Session: thing, Cause: "made"}})
}

// MadeBy is the roster number of the account that made a thing, 0 when the
// ledger no longer says (pin_ttl).
func (e *Engine) MadeBy(thing events.Digest) uint32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	doc, _ := e.view.Admission.Document()
	pin, _ := e.view.Pins.Of(thing, events.Digest{}, &doc.Policy, e.nowFunc())
	return pin.Account
}
