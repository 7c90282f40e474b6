package xai

import (
	"slices"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

const (
	corpus provider.Source = "xai-org/grok-build xai-grok-sampling-types provider_error.rs 19d42e3, 2026-11"
	g2a    provider.Source = "chenyme/grok2api gateway/failure.go d6f6e9f, 2026-11"
	docs   provider.Source = "docs.x.ai/developers/debugging, 2026-11"
)

func rules() []provider.Rule {
	return slices.Concat(safety(), money(), limits(), accounts(), hosts())
}

// safety shares its code with denials of an account, so its words come first.
func safety() []provider.Rule {
	return []provider.Rule{
		{ID: "xai.safety", Phrases: []string{"content violates usage guidelines", "safety_check_type_"},
			Class: events.ClassPolicyRefused, From: corpus},
		{ID: "xai.policy", Phrases: []string{"violates our usage policy", "rejected by policy", "usage policy"}, Statuses: []int{400, 403},
			Class: events.ClassPolicyRefused, From: g2a, Confidence: provider.Medium},
	}
}

// money: one gRPC-derived code stands for bursts and for spent credits.
func money() []provider.Rule {
	grpc := []string{"resource-exhausted", "some resource has been exhausted",
		"the caller does not have permission to execute the specified operation", "permission-denied"}
	spent := []string{"used all available credits", "reached its monthly spending limit"}
	return []provider.Rule{
		{ID: "xai.credits-code", Codes: grpc, Phrases: spent,
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: corpus},
		{ID: "xai.credits", Phrases: spent, Statuses: []int{402, 403, 429},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: corpus},
		// The code of the reset is at the billing endpoint, see grok-build.
		{ID: "xai.spending-limit", Codes: []string{"personal-team-blocked:spending-limit"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: corpus},
		{ID: "xai.spending-words", Phrases: []string{"spending limit", "usage balance exhausted", "run out of credits"}, Statuses: []int{402, 403},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: g2a, Confidence: provider.Medium},
	}
}

func limits() []provider.Rule {
	free := []provider.Reset{provider.Policy("rolling_24h", 24*time.Hour)}
	exhausted := []string{"resource-exhausted", "some resource has been exhausted"}
	burst := append(provider.RetryAfter(), provider.Message("resets in", ""), provider.Message("try again in", ""))
	return []provider.Rule{
		{ID: "xai.free-usage", Codes: []string{"subscription:free-usage-exhausted", "free-usage-exhausted"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, ScopeOf: namedModel, Resets: free, From: g2a, Confidence: provider.Medium},
		{ID: "xai.free-quota", Statuses: []int{429}, Phrases: []string{"free usage quota exceeded"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, ScopeOf: namedModel, Resets: free, From: g2a, Confidence: provider.Medium},
		{ID: "xai.not-entitled", Codes: exhausted, Phrases: []string{" 0/0"},
			Class: events.ClassForbidden, Scope: events.ScopeModel, From: g2a, Confidence: provider.Medium},
		{ID: "xai.rate", Codes: exhausted,
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: burst, BySize: 300 * time.Second, From: corpus},
		{ID: "xai.rate-words", Statuses: []int{429}, Phrases: []string{"rate limit", "too many requests"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: burst, BySize: 300 * time.Second, From: corpus},
	}
}

// namedModel narrows to the model that was asked where the text speaks of one
// ("for model X"). The name itself is not taken from the text.
func namedModel(l *provider.Look) events.Scope {
	if l.Model == "" || !strings.Contains(l.Env.Message, "for model ") {
		return events.Scope{}
	}
	return events.Scope{Kind: events.ScopeModel, Name: l.Model}
}

func accounts() []provider.Rule {
	denied := []string{"permission-denied", "the caller does not have permission to execute the specified operation"}
	return []provider.Rule{
		{ID: "xai.bad-key", Statuses: []int{400, 401}, Phrases: []string{"incorrect api key provided"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: docs},
		{ID: "xai.bad-credentials", Codes: []string{"bad-credentials"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: corpus},
		{ID: "xai.bad-token", Statuses: []int{401, 403}, Phrases: []string{"access token could not be validated"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: corpus},
		{ID: "xai.blocked", Codes: []string{"blocked-user", "user-blocked"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: g2a},
		{ID: "xai.blocked-words", Statuses: []int{403}, Phrases: []string{"user is blocked", "account is blocked", "account has been blocked"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: g2a, Confidence: provider.Medium},
		{ID: "xai.chat-denied", Codes: denied, Phrases: []string{"access to the chat endpoint is denied"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: g2a, Confidence: provider.Medium},
		{ID: "xai.access-denied", Statuses: []int{403}, Phrases: []string{"access denied."},
			Class: events.ClassForbidden, Scope: events.ScopeModel, From: g2a, Confidence: provider.Medium},
		{ID: "xai.model-denied", Codes: denied, Phrases: []string{"not allowed to access model", "not allowed to use model", "does not have access to the model"},
			Class: events.ClassForbidden, Scope: events.ScopeModel, From: g2a, Confidence: provider.Medium},
		{ID: "xai.zero-data-retention", Statuses: []int{400, 403}, Phrases: []string{"zero data retention", "zero-data-retention"},
			Class: events.ClassInvalidRequest, From: g2a, Confidence: provider.Medium},
		{ID: "xai.invalid-argument", Codes: []string{"invalid-argument"}, Statuses: []int{400, 403, 422},
			Class: events.ClassInvalidRequest, From: g2a},
	}
}

// hosts: how we call, and what all callers share.
func hosts() []provider.Rule {
	return []provider.Rule{
		{ID: "xai.dpop", Statuses: []int{401, 403}, Phrases: []string{"dpop"},
			Class: events.ClassForbidden, Scope: events.ScopeEndpoint, Failover: provider.OtherEndpoint, From: g2a, Confidence: provider.Medium},
		{ID: "xai.overloaded", Statuses: []int{503, 529},
			Class: events.ClassOverloaded, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: corpus, Confidence: provider.Medium},
		{ID: "xai.5xx", Statuses: []int{500, 502, 504},
			Class: events.ClassServerError, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: corpus, Confidence: provider.Medium},
	}
}
