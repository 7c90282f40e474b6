// Package mistral is Mistral's API: flat error bodies, limits per organisation
// and model, no reset headers.
package mistral

import (
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

const (
	clients provider.Source = "several independent clients' parsers of Mistral errors, 2026-11"
	general provider.Source = "general knowledge, not read in a source, 2026-11"
)

// Provider is mistral.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "mistral",
		BaseURL:  "https://api.mistral.ai/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "MISTRAL_API_KEY",
		Known: []string{"mistral-*", "open-mistral-*", "open-mixtral-*", "codestral-*", "ministral-*", "pixtral-*", "magistral-*",
			"devstral-*", "voxtral-*", "labs-*"},
		Rules:  slices.Concat(rules(), compatible.Basics()),
		InBand: inBand,
	}
}

func rules() []provider.Rule {
	return []provider.Rule{
		{ID: "mistral.capacity", Codes: []string{"3505"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: clients, Confidence: provider.Medium},
		{ID: "mistral.capacity-type", Types: []string{"service_tier_capacity_exceeded"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: clients, Confidence: provider.Medium},
		{ID: "mistral.rate", Codes: []string{"1300"},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: clients, Confidence: provider.Medium},
		{ID: "mistral.rate-type", Types: []string{"rate_limited"},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: clients, Confidence: provider.Medium},
		{ID: "mistral.billing", Statuses: []int{402},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: general, Confidence: provider.Low},
	}
}

// inBand: the headers carry their window in the name and no reset; R1 lets such
// a window park nothing.
func inBand(a *provider.Answer) *events.Reading {
	return provider.ReadBuckets(a, buckets)
}

// buckets are the windows that header names carry, canonical.
var buckets = []provider.Bucket{
	provider.AMinute("req-minute", "X-Ratelimit-Limit-Req-Minute", "X-Ratelimit-Remaining-Req-Minute", ""),
	provider.AMinute("tokens-minute", "X-Ratelimit-Limit-Tokens-Minute", "X-Ratelimit-Remaining-Tokens-Minute", ""),
}
