package compatible

import (
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// InBand reads OpenAI's rate-limit headers: a bucket of requests and one of
// tokens, a minute each where no suffix says otherwise, of the model that was
// asked. Numbers that are no numbers void the reading.
func InBand(a *provider.Answer) *events.Reading {
	g := provider.Gauge{At: a.At, Header: a.Header}
	var windows []events.Window
	for _, kind := range []string{"requests", "tokens", "project-tokens"} {
		w, ok := g.Bucket(kind, time.Minute, "X-Ratelimit-Limit-"+kind, "X-Ratelimit-Remaining-"+kind, "X-Ratelimit-Reset-"+kind)
		if ok {
			w.Scope = events.Scope{Kind: events.ScopeModel, Name: a.Model}
			windows = append(windows, w)
		}
	}
	return g.Reading(windows)
}
