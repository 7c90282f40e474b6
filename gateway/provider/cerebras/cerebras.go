// Package cerebras is Cerebras. Its header names carry the window, resets are
// seconds with a fraction.
package cerebras

import (
	"slices"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

const (
	docs    provider.Source = "inference-docs.cerebras.ai rate limits and error codes, 2026-11"
	general provider.Source = "general knowledge, not read in a source, 2026-11"
)

// Provider is cerebras.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "cerebras",
		BaseURL:  "https://api.cerebras.ai/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "CEREBRAS_API_KEY",
		Known:    []string{"llama3*", "llama-*", "qwen-3-*", "gpt-oss-*", "zai-glm-*"},
		Rules:    slices.Concat(rules(), compatible.Basics(), compatible.Money()),
		InBand:   inBand,
	}
}

// buckets are the windows that header names carry, canonical.
var buckets = []provider.Bucket{
	{Name: "requests-day", Length: 24 * time.Hour, Limit: "X-Ratelimit-Limit-Requests-Day", Remaining: "X-Ratelimit-Remaining-Requests-Day", Reset: "X-Ratelimit-Reset-Requests-Day"},
	provider.AMinute("tokens-minute", "X-Ratelimit-Limit-Tokens-Minute", "X-Ratelimit-Remaining-Tokens-Minute", "X-Ratelimit-Reset-Tokens-Minute"),
}

func rules() []provider.Rule {
	day := []provider.Reset{{Source: "header:x-ratelimit-reset-requests-day"}}
	minute := append(provider.RetryAfter(), provider.Reset{Source: "header:x-ratelimit-reset-tokens-minute"})
	return []provider.Rule{
		{ID: "cerebras.queue", Codes: []string{"queue_exceeded"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), Failover: provider.OtherEndpoint, From: docs},
		{ID: "cerebras.day", Statuses: []int{429}, Headers: []provider.HeaderIs{{Name: "X-Ratelimit-Remaining-Requests-Day", Equals: "0"}},
			Class: events.ClassWindowExhausted, Scope: events.ScopeModel, Resets: day, From: docs},
		{ID: "cerebras.minute", Statuses: []int{429}, Headers: []provider.HeaderIs{{Name: "X-Ratelimit-Remaining-Tokens-Minute", Equals: "0"}},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: minute, From: docs},
		{ID: "cerebras.rate", Statuses: []int{429},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: docs},
		{ID: "cerebras.requests-quota", Types: []string{"too_many_requests_error"}, Phrases: []string{"requests per day"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeModel, Resets: day, From: general, Confidence: provider.Low},
		{ID: "cerebras.payment", Statuses: []int{402},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: docs},
	}
}

func inBand(a *provider.Answer) *events.Reading {
	return provider.ReadBuckets(a, buckets)
}
