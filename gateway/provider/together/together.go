// Package together is Together AI: a dynamic rate per organisation and model.
// 503 means that capacity lacks while the caller was within its rate, 429 that
// the caller was above it.
package together

import (
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

const (
	docs    provider.Source = "docs.together.ai rate limits and error codes, 2026-11"
	general provider.Source = "general knowledge, not read in a source, 2026-11"
)

// Provider is together.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "together",
		BaseURL:  "https://api.together.xyz/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "TOGETHER_API_KEY",
		Known:    []string{"*/*"},
		// The texts of types are informative only: the shared rows of limits and
		// accounts stay out.
		Rules:  slices.Concat(rules(), compatible.Policy(), compatible.Requests()),
		InBand: inBand,
	}
}

func rules() []provider.Rule {
	return []provider.Rule{
		{ID: "together.capacity", Statuses: []int{503},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: docs, Confidence: provider.Medium},
		{ID: "together.rate", Statuses: []int{429},
			Class: events.ClassRateLimited, Scope: events.ScopeModel,
			Resets: append(provider.RetryAfter(), provider.Header("x-ratelimit-reset")), From: docs, Confidence: provider.Medium},
		{ID: "together.spending", Statuses: []int{402},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: general, Confidence: provider.Low},
	}
}

func inBand(a *provider.Answer) *events.Reading {
	return provider.ReadBuckets(a, buckets)
}

// buckets share one reset.
var buckets = []provider.Bucket{
	provider.AMinute("requests", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"),
	provider.AMinute("tokens", "X-Tokenlimit-Limit", "X-Tokenlimit-Remaining", "X-Ratelimit-Reset"),
}
