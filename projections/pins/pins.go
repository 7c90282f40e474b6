// Package pins folds pin events and routed attempts into the soft ties of
// sessions to accounts (R14).
package pins

import "github.com/waybill/waybill/events"

// Pin is one session's tie on one route.
type Pin struct {
	Account uint32 // roster number
	Since   events.Time
	Used    events.Time // newest attempt routed there; pin_ttl slides from it
}

// View is the pins projection.
type View struct{}

// New is an empty view.
func New() *View { return &View{} }

// Name implements projections.Projection.
func (v *View) Name() string { return "pins" }

// Version implements projections.Projection.
func (v *View) Version() uint32 { return 1 }

// Apply folds a committed event.
func (v *View) Apply(*events.Event) {}

// Pend folds an own event that is not committed.
func (v *View) Pend(*events.Event) {}

// DropPending forgets the pending layer.
func (v *View) DropPending() {}

// AppendState implements projections.Projection.
func (v *View) AppendState(b []byte) []byte { return b }

// LoadState implements projections.Projection.
func (v *View) LoadState([]byte) error { return nil }

// Of is the session's pin on a route at an instant; ok is false when there is
// none or its time to live has passed.
func (v *View) Of(session, route events.Digest, policy *events.Policy, now events.Time) (Pin, bool) {
	return Pin{}, false
}
