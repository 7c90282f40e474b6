// Package fireworks is Fireworks AI. A header may say on a 200 that the
// guaranteed rate is exceeded: a hint, not an error.
package fireworks

import (
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

const docs provider.Source = "docs.fireworks.ai rate limits, 2026-11"

// Provider is fireworks.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "fireworks",
		BaseURL:  "https://api.fireworks.ai/inference/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "FIREWORKS_API_KEY",
		Known:    []string{"accounts/*", "fireworks/*"},
		Rules:    slices.Concat(rules(), compatible.Policy(), compatible.Requests(), compatible.Accounts()),
		InBand:   inBand,
	}
}

func rules() []provider.Rule {
	return []provider.Rule{
		{ID: "fireworks.rate", Statuses: []int{429},
			Class: events.ClassRateLimited, Scope: events.ScopeModel,
			Resets: append(provider.RetryAfter(), provider.SpentBucket()), From: docs, Confidence: provider.Medium},
		{ID: "fireworks.overloaded", Statuses: []int{503},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: docs, Confidence: provider.Medium},
		{ID: "fireworks.suspended", Statuses: []int{402, 412},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: docs, Confidence: provider.Low},
	}
}

func inBand(a *provider.Answer) *events.Reading {
	return provider.ReadBuckets(a, buckets)
}

// buckets are the headers of each bucket, canonical.
var buckets = []provider.Bucket{
	provider.AMinute("requests", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"),
	provider.AMinute("tokens-prompt", "X-Ratelimit-Limit-Tokens-Prompt", "X-Ratelimit-Remaining-Tokens-Prompt", "X-Ratelimit-Reset-Tokens-Prompt"),
	provider.AMinute("tokens-generated", "X-Ratelimit-Limit-Tokens-Generated", "X-Ratelimit-Remaining-Tokens-Generated", "X-Ratelimit-Reset-Tokens-Generated"),
}
