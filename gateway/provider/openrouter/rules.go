package openrouter

import (
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

const docs provider.Source = "OpenRouterTeam/docs limits.mdx and errors-and-debugging.mdx 06e180a, 2026-11"

func rules() []provider.Rule {
	return append(append(policy(), money()...), limits()...)
}

func policy() []provider.Rule {
	return []provider.Rule{
		// Moderation is told by members of metadata, not by a code.
		{ID: "openrouter.moderation", Statuses: []int{403}, Where: moderated, Class: events.ClassPolicyRefused, From: docs},
		{ID: "openrouter.guardrail", Statuses: []int{403, 404}, Phrases: []string{"guardrail", "data policy", "privacy settings"},
			Class: events.ClassForbidden, Scope: events.ScopeModel, From: docs},
	}
}

func moderated(l *provider.Look) bool {
	m := l.Env.Root.At("error.metadata")
	return m.Get("reasons").Exists() || m.Get("flagged_input").Exists()
}

// money: a 402 may be a matter of seconds, of one request or of one key.
func money() []provider.Rule {
	return []provider.Rule{
		{ID: "openrouter.in-flight", Codes: []string{"in_flight_budget_exhausted", "openrouter_in_flight_budget"},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: docs},
		{ID: "openrouter.too-expensive", Codes: []string{"weight_exceeds_budget"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeRequest, From: docs},
		{ID: "openrouter.key-limit", Codes: []string{"openrouter_key_limit"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: docs},
		{ID: "openrouter.credits", Codes: []string{"openrouter_credits"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: docs},
		{ID: "openrouter.can-only-afford", Statuses: []int{402}, Phrases: []string{"can only afford"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeRequest, From: docs},
	}
}

func limits() []provider.Rule {
	own := []provider.Reset{provider.Header("x-ratelimit-reset"), provider.Body("error.metadata.headers.X-RateLimit-Reset"), provider.RetryAfter()[1]}
	upstream := append(provider.RetryAfter(), provider.Message("try again in", ""))
	return []provider.Rule{
		{ID: "openrouter.free-day", Statuses: []int{429}, Phrases: []string{"free-models-per-day"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeFamily, Resets: own, From: docs, Confidence: provider.Medium},
		{ID: "openrouter.free-minute", Statuses: []int{429}, Phrases: []string{"free-models-per-min"},
			Class: events.ClassRateLimited, Scope: events.ScopeFamily, Resets: own, From: docs, Confidence: provider.Medium},
		{ID: "openrouter.upstream-limit", Statuses: []int{429}, Where: fromUpstream,
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: upstream, Failover: provider.OtherEndpoint, From: docs},
		{ID: "openrouter.unavailable", Types: []string{"provider_unavailable"},
			Class: events.ClassServerError, Scope: events.ScopeModel, Resets: provider.RetryAfter(), Failover: provider.OtherEndpoint, From: docs},
		{ID: "openrouter.upstream-overloaded", Types: []string{"provider_overloaded"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), Failover: provider.OtherEndpoint, From: docs},
		{ID: "openrouter.no-provider", Statuses: []int{503, 529},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), Failover: provider.OtherEndpoint, From: docs},
		{ID: "openrouter.timeout", Statuses: []int{408},
			Class: events.ClassServerError, Scope: events.ScopeRequest, From: docs},
	}
}

// fromUpstream: the limit is one of a provider behind OpenRouter. It is named,
// or quoted, or its error kind is; OpenRouter's own limits send X-RateLimit
// headers instead.
func fromUpstream(l *provider.Look) bool {
	m := l.Env.Root.At("error.metadata")
	if m.Get("provider_name").Exists() || m.Get("raw").Exists() || m.Get("provider_code").Exists() {
		return true
	}
	return strings.EqualFold(m.Get("error_type").Text(), "rate_limit_exceeded") && l.Header.Get("X-Ratelimit-Reset") == ""
}
