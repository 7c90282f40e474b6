// Package azure is Azure OpenAI (Foundry). Limits are the deployment's, which
// is what a client names as the model; resets are whole seconds and -1 or 0
// stand for unknown.
package azure

import (
	"slices"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

const (
	docs    provider.Source = "learn.microsoft.com azure ai foundry quotas and errors, 2026-11"
	general provider.Source = "general knowledge, not read in a source, 2026-11"
)

// Provider is azure-openai. Its base URL is the resource's:
// https://RESOURCE.openai.azure.com/openai/v1
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "azure-openai",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.APIKey,
		Rules:    slices.Concat(rules(), compatible.Policy(), compatible.Requests(), compatible.Accounts()),
		InBand:   compatible.InBand,
	}
}

func rules() []provider.Rule {
	resets := append(provider.RetryAfter(), provider.TryAgain()...)
	return []provider.Rule{
		{ID: "azure.demand", Statuses: []int{429}, Phrases: []string{"experiencing high demand"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: docs},
		{ID: "azure.capacity-code", Codes: []string{"nocapacity", "too_many_requests"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: general, Confidence: provider.Low},
		{ID: "azure.rate-code", Codes: []string{"ratelimitreached"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: resets, BySize: 300 * time.Second, From: docs},
		{ID: "azure.quota", Codes: []string{"insufficient_quota"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: docs, Confidence: provider.Medium},
		{ID: "azure.subscription", Codes: []string{"readonlydisabledsubscription"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: general, Confidence: provider.Low},
		{ID: "azure.auth", Codes: []string{"permissiondenied", "unauthorized"}, Statuses: []int{401},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: docs},
		{ID: "azure.deployment", Codes: []string{"deploymentnotfound"},
			Class: events.ClassModelUnsupported, Scope: events.ScopeModel, From: docs},
		{ID: "azure.rate", Statuses: []int{429},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: resets, BySize: 300 * time.Second, From: docs},
	}
}
