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
	for i := range buckets {
		b := &buckets[i]
		if w, ok := g.Bucket(b.kind, time.Minute, b.limit, b.remaining, b.reset); ok {
			w.Scope = events.Scope{Kind: events.ScopeModel, Name: a.Model}
			windows = append(windows, w)
		}
	}
	return g.Reading(windows)
}

// buckets are the headers of each bucket, canonical: every answer is looked at.
var buckets = [...]struct{ kind, limit, remaining, reset string }{
	{"requests", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"tokens", "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{"project-tokens", "X-Ratelimit-Limit-Project-Tokens", "X-Ratelimit-Remaining-Project-Tokens", "X-Ratelimit-Reset-Project-Tokens"},
}
