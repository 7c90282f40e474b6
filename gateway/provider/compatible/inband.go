package compatible

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// InBand reads OpenAI's rate-limit headers: a bucket of requests and one of
// tokens, a minute each where no suffix says otherwise, of the model that was
// asked. Numbers that are no numbers void the reading.
func InBand(a *provider.Answer) *events.Reading {
	return provider.ReadBuckets(a, buckets)
}

// buckets are the headers of each bucket, canonical: every answer is looked at.
var buckets = []provider.Bucket{
	provider.AMinute("requests", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"),
	provider.AMinute("tokens", "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"),
	provider.AMinute("project-tokens", "X-Ratelimit-Limit-Project-Tokens", "X-Ratelimit-Remaining-Project-Tokens", "X-Ratelimit-Reset-Project-Tokens"),
}
