package anthropic

import (
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

const (
	docs    provider.Source = "platform.claude.com/docs/en/api/errors and rate-limits, 2026-11"
	unified provider.Source = "router-for-me/CLIProxyAPI helps/claude_ratelimit.go, 2026-11"
	sdks    provider.Source = "anthropics/anthropic-sdk-python and -typescript, 2026-08"
	router  provider.Source = "OmniRoute tests/unit 429 classification, 2026-11"
)

const window = 300 * time.Second

// Rules are Anthropic's rows, for API keys and subscriptions alike.
func Rules() []provider.Rule {
	out := quota()
	out = append(out, money()...)
	out = append(out, rates()...)
	out = append(out, capacity()...)
	return append(out, accounts()...)
}

// quota rows: a 429 with the unified headers of a subscription.
func quota() []provider.Rule {
	at := []int{429}
	resets := append([]provider.Reset{rejectedReset(), provider.Header("anthropic-ratelimit-unified-reset")}, provider.RetryAfter()...)
	return []provider.Rule{
		{ID: "anthropic.extra-usage", Types: []string{"rate_limit_error"}, Phrases: []string{"extra usage is required", "extra usage required"},
			Class: events.ClassForbidden, Scope: events.ScopeRequest, Failover: provider.Always, From: unified},
		{ID: "anthropic.unified-shared", Statuses: at, Where: sharedRejected,
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: resets, From: unified},
		{ID: "anthropic.unified-family", Statuses: at, Where: familyRejected,
			Class: events.ClassWindowExhausted, Scope: events.ScopeFamily, ScopeOf: rejectedFamily, Resets: resets, From: unified},
		{ID: "anthropic.unified-rejected", Statuses: at, Headers: []provider.HeaderIs{{Name: "Anthropic-Ratelimit-Unified-Status", Equals: "rejected"}},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: resets, From: unified},
		{ID: "anthropic.unified-allowed", Statuses: at, Headers: []provider.HeaderIs{{Name: "Anthropic-Ratelimit-Unified-Status", Contains: "allowed"}},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: unified},
		{ID: "anthropic.account-limit", Types: []string{"rate_limit_error"}, Phrases: []string{"would exceed your account's rate limit"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: resets, From: router, Confidence: provider.Medium},
	}
}

// money rows: billing under 400, 402 and 429.
func money() []provider.Rule {
	regain := []provider.Reset{provider.Message("regain access on", "regain access on <date>"), provider.Calendar("month_start_utc")}
	return []provider.Rule{
		{ID: "anthropic.spend-enforced", Codes: []string{"enforced_spend_limit_reached"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount,
			Resets: []provider.Reset{provider.Calendar("month_start_utc")}, From: docs},
		{ID: "anthropic.spend-own", Types: []string{"invalid_request_error", "rate_limit_error"},
			Phrases: []string{"reached your specified api usage limits", "reached your specified workspace api usage limits", "reached your api usage limits"},
			Class:   events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: regain, From: docs},
		{ID: "anthropic.balance", Types: []string{"invalid_request_error"}, Phrases: []string{"credit balance is too low"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: docs},
		{ID: "anthropic.billing", Types: []string{"billing_error"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: docs},
	}
}

// rates: buckets of the organisation and the model's class. Without a bucket
// header nothing says that only one model is meant.
func rates() []provider.Rule {
	resets := append([]provider.Reset{provider.Body("error.resets_at"), provider.Body("resets_at")}, provider.RetryAfter()...)
	resets = append(resets, provider.SpentBucket(), provider.Header("anthropic-ratelimit-unified-reset"))
	resets = append(resets, provider.TryAgain()...)
	return []provider.Rule{
		{ID: "anthropic.rate-model", Types: []string{"rate_limit_error"}, Where: namesBucket,
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: resets, From: docs},
		{ID: "anthropic.rate", Types: []string{"rate_limit_error"},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: resets, BySize: window, From: docs},
	}
}

// namesBucket: a header tells which bucket of the model's class is meant.
func namesBucket(l *provider.Look) bool {
	for key := range l.Header {
		if strings.HasPrefix(key, "Anthropic-Ratelimit-") && !strings.HasPrefix(key, unifiedPrefix) {
			return true
		}
	}
	return false
}

func capacity() []provider.Rule {
	return []provider.Rule{
		{ID: "anthropic.overloaded", Types: []string{"overloaded_error"},
			Class: events.ClassOverloaded, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: docs},
		{ID: "anthropic.overloaded-529", Statuses: []int{529},
			Class: events.ClassOverloaded, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: docs},
		{ID: "anthropic.server-error", Types: []string{"api_error", "timeout_error"},
			Class: events.ClassServerError, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: docs},
	}
}

func accounts() []provider.Rule {
	return []provider.Rule{
		{ID: "anthropic.org-disabled", Types: []string{"invalid_request_error", "permission_error"}, Phrases: []string{"organization has been disabled"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, Failover: provider.Always, From: docs},
		{ID: "anthropic.oauth-not-allowed", Types: []string{"permission_error"}, Phrases: []string{"oauth authentication is currently not allowed"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: docs},
		{ID: "anthropic.model-access", Types: []string{"permission_error"}, Phrases: []string{"model"},
			Class: events.ClassForbidden, Scope: events.ScopeModel, From: docs, Confidence: provider.Medium},
		{ID: "anthropic.authentication", Types: []string{"authentication_error"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: docs},
		{ID: "anthropic.model-not-found", Types: []string{"not_found_error"}, Phrases: []string{"model"},
			Class: events.ClassModelUnsupported, Scope: events.ScopeModel, From: docs},
		{ID: "anthropic.not-found", Types: []string{"not_found_error"},
			Class: events.ClassNotFound, From: docs},
		{ID: "anthropic.too-large", Types: []string{"request_too_large"},
			Class: events.ClassInvalidRequest, From: docs},
		{ID: "anthropic.invalid-request", Types: []string{"invalid_request_error"}, Statuses: []int{400, 413, 422},
			Class: events.ClassInvalidRequest, From: sdks},
	}
}
