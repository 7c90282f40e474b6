package openai

import (
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

const (
	help   provider.Source = "help.openai.com article 6614457 and error-codes guide, 2026-11"
	limits provider.Source = "developers.openai.com/api/docs/guides/rate-limits, 2026-11"
	legacy provider.Source = "learn.microsoft.com dev-proxy openai-insufficient-quota, 2026-11"
)

const window = 300 * time.Second

// rules are OpenAI's own rows; those of its protocol stand in compatible.
func rules() []provider.Rule {
	out := spending()
	out = append(out, rates()...)
	return append(out, capacity()...)
}

// spending: error.type stays insufficient_quota for all of these, so the code
// is read first.
func spending() []provider.Rule {
	month := []provider.Reset{provider.Calendar("month_start_utc")}
	return []provider.Rule{
		{ID: "openai.credit-balance", Codes: []string{"credit_balance_exhausted"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: help},
		{ID: "openai.organization-spend", Codes: []string{"organization_spend_limit_exceeded"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: month, From: help},
		{ID: "openai.project-spend", Codes: []string{"project_spend_limit_exceeded"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: month, From: help},
		{ID: "openai.organization-usage", Codes: []string{"organization_usage_limit_exceeded"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: month, From: help},
		{ID: "openai.billing-hard-limit", Codes: []string{"billing_hard_limit_reached"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: month, From: legacy, Confidence: provider.Medium},
		{ID: "openai.billing-inactive", Codes: []string{"billing_not_active"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: legacy, Confidence: provider.Medium},
		{ID: "openai.insufficient-quota", Codes: []string{"insufficient_quota"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: help, Confidence: provider.Medium},
	}
}

// rates: one code for a burst, a day's limit and a request that never fits.
func rates() []provider.Rule {
	code := []string{"rate_limit_exceeded"}
	resets := append(append(provider.RetryAfter(), provider.Message("try again in", "")), provider.SpentBucket())
	return []provider.Rule{
		{ID: "openai.request-too-large", Codes: code, Phrases: []string{"request too large"},
			Class: events.ClassInvalidRequest, Scope: events.ScopeModel, Failover: provider.Always, From: limits},
		{ID: "openai.per-day", Codes: code, Phrases: []string{"per day", "(rpd)", "(tpd)"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeModel, Resets: resets, From: limits},
		{ID: "openai.per-minute", Codes: code,
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: resets, BySize: window, From: limits},
		{ID: "openai.slow-down", Codes: []string{"slow_down"}, Types: []string{"rate_limit_error"},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: resets, From: help},
	}
}

// capacity: shared fate, never the account's.
func capacity() []provider.Rule {
	return []provider.Rule{
		{ID: "openai.overloaded", Codes: []string{"server_is_overloaded", "slow_down"},
			Class: events.ClassOverloaded, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: help},
		{ID: "openai.overloaded-type", Types: []string{"service_unavailable_error"},
			Class: events.ClassOverloaded, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: help},
		{ID: "openai.country", Codes: []string{"unsupported_country_region_territory"},
			Class: events.ClassForbidden, Scope: events.ScopeEndpoint, Failover: provider.OtherEndpoint, From: help},
		{ID: "openai.server-error", Codes: []string{"server_error"},
			Class: events.ClassServerError, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: help},
		{ID: "openai.server-error-type", Types: []string{"server_error"},
			Class: events.ClassServerError, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: help},
		{ID: "openai.overloaded-503", Statuses: []int{503},
			Class: events.ClassOverloaded, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: help},
		{ID: "openai.5xx", Statuses: []int{500, 502, 504},
			Class: events.ClassServerError, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: help},
	}
}
