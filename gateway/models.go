package gateway

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
)

// listModels answers from what is routable.
func (x *exchange) listModels() { x.lost(false) }

// rosterNumber is an account's number, 0 when it was never enrolled.
func (g *Gateway) rosterNumber(id string) (n uint32) {
	g.engine.View(func(v routing.View, _ events.Position, _ events.Time) {
		if a := v.Admission.Account(id); a != nil && !a.Retired {
			n = a.No
		}
	})
	return n
}
