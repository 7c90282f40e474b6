// Package pins folds pin events and routed attempts into the soft ties of
// sessions to accounts (R14). It knows nothing of why a pin moves: that is
// decided in package routing and recorded as events.
package pins

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/roster"
)

// Pin is one session's tie on one route.
type Pin struct {
	Account uint32 // roster number
	Since   events.Time
	Used    events.Time // newest attempt of the session on the route; pin_ttl slides from it
}

// Capacity bounds the pins that are kept; beyond it the one that was used
// longest ago is dropped.
const Capacity = 1 << 16

// key is a session on a route. The session's digest holds its client, so two
// clients never share a pin.
type key struct{ session, route events.Digest }

// View is the pins projection: committed pins and, over them, what own events
// that are not committed change. Not safe for concurrent use.
type View struct {
	committed table
	pending   map[key]Pin // Account 0: released
	numbers   roster.Numbers
}

// New is an empty view.
func New() *View { return &View{committed: newTable(Capacity)} }

// Name implements projections.Projection.
func (v *View) Name() string { return "pins" }

// Version implements projections.Projection.
func (v *View) Version() uint32 { return 1 }

// Of is the session's pin on a route at an instant; ok is false when there is
// none or its time to live has passed.
func (v *View) Of(session, route events.Digest, policy *events.Policy, now events.Time) (Pin, bool) {
	p, ok := v.get(key{session, route})
	if !ok || now.Sub(p.Used) > policy.PinTTL {
		return Pin{}, false
	}
	return p, true
}

// Len is the number of committed pins, expired ones included.
func (v *View) Len() int { return v.committed.len() }

func (v *View) get(k key) (Pin, bool) {
	if p, ok := v.pending[k]; ok {
		return p, p.Account != 0
	}
	return v.committed.get(k)
}

// Apply folds a committed event.
func (v *View) Apply(e *events.Event) {
	switch p := e.Data.(type) {
	case *events.AccountEnrolled:
		v.numbers.Enrol(e.Account)
	case *events.AccountRetired:
		v.committed.dropAccount(v.numbers.Of(e.Account))
	default:
		if k, pin, ok := v.change(e, p, v.committed.get); ok {
			v.committed.put(k, pin)
		}
	}
}

// Pend folds an own event that is not committed.
func (v *View) Pend(e *events.Event) {
	k, pin, ok := v.change(e, e.Data, v.get)
	if !ok {
		return
	}
	if v.pending == nil {
		v.pending = map[key]Pin{}
	}
	v.pending[k] = pin
}

// DropPending forgets the pending layer.
func (v *View) DropPending() { clear(v.pending) }

// change is what an event makes of one pin; Account 0 releases it. The layer
// that the event is folded into says how the pin stood.
func (v *View) change(e *events.Event, data events.Payload, stood func(key) (Pin, bool)) (key, Pin, bool) {
	switch p := data.(type) {
	case *events.AttemptRouted:
		k := key{p.Stamp.Session, p.Route}
		if p.Stamp.Session.IsZero() {
			return k, Pin{}, false
		}
		pin, ok := stood(k)
		pin.Used = max(pin.Used, e.ObservedAt)
		return k, pin, ok
	case *events.PinSet:
		return v.tie(e, key{p.Session, p.Route})
	case *events.PinMoved:
		return v.tie(e, key{p.Session, p.Route})
	case *events.PinReleased:
		return key{p.Session, p.Route}, Pin{}, true
	}
	return key{}, Pin{}, false
}

func (v *View) tie(e *events.Event, k key) (key, Pin, bool) {
	n := v.numbers.Of(e.Account)
	return k, Pin{Account: n, Since: e.ObservedAt, Used: e.ObservedAt}, n != 0
}
