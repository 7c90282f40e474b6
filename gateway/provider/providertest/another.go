package providertest

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/projections/routing"
)

// Another says whether another account of the same endpoint is asked after a
// finding. It asks routing, so that a provider's table is held to what the
// gateway does with it.
func Another(f *provider.Finding) bool {
	policy := events.DefaultPolicy()
	w := routing.Walked{Attempts: []routing.Made{{Account: 1, Class: f.Class, Onward: routing.Onward(f.Failover)}}}
	return f.Failover != provider.OtherEndpoint && routing.MayFailover(&w, &policy) == routing.GoesOn
}
