package compatible

import (
	"net/http"
	"slices"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

const (
	sdks      provider.Source = "openai/openai-python, -node, -go error handling, 2026-08"
	guides    provider.Source = "developers.openai.com/api/docs/guides/error-codes, 2026-11"
	catalogue provider.Source = "catalogue section 0.2, 2026-11"
	routers   provider.Source = "OmniRoute tests/unit 429 classification, 2026-11"
)

// window is the stated wait from which on a limit is a window.
const window = 300 * time.Second

// Rules are the rows that upstreams of this protocol share. A provider's own
// table puts its rows before these.
func Rules() []provider.Rule {
	return slices.Concat(Policy(), Money(), Limits(), Requests(), Accounts())
}

// Basics are Rules without limits and money, for providers whose own table
// says all about these.
func Basics() []provider.Rule { return slices.Concat(Policy(), Requests(), Accounts()) }

// Policy rows: what was asked is refused, by whichever account.
func Policy() []provider.Rule {
	return []provider.Rule{
		{ID: "compatible.policy-code",
			Codes: []string{"content_policy_violation", "content_filter", "cyber_policy", "bio_policy", "moderation_blocked",
				"responsibleaipolicyviolation"},
			Class: events.ClassPolicyRefused, From: guides},
	}
}

// Money rows: a balance or a budget is spent.
func Money() []provider.Rule {
	return []provider.Rule{
		{ID: "compatible.billing-code",
			Codes: []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance",
				"credit_balance_exhausted", "insufficient_credits", "payment_required"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: guides},
		{ID: "compatible.billing-type", Types: []string{"insufficient_quota", "billing_error", "insufficient_balance"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: guides},
		{ID: "compatible.billing-words", Statuses: []int{402, 403, 429},
			Phrases: []string{"out of credits", "insufficient balance", "insufficient credit", "insufficient funds",
				"credit balance is too low", "no credits remaining"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: routers, Confidence: provider.Medium},
	}
}

// Limits rows: too much in a while.
func Limits() []provider.Rule {
	resets := append(append(provider.RetryAfter(), provider.SpentBucket()), provider.TryAgain()...)
	stated := append([]provider.Reset{provider.Body("error.resets_at"), provider.Body("resets_at")}, resets...)
	return []provider.Rule{
		{ID: "compatible.limit-zero", Statuses: []int{403, 429}, Where: limitZero,
			Class: events.ClassForbidden, Scope: events.ScopeModel, Failover: provider.Always,
			From: "gemini-cli googleQuotaErrors.ts and dev.to reports, 2026-10", Confidence: provider.Medium},
		{ID: "compatible.request-too-large", Statuses: []int{429, 413}, Phrases: []string{"request too large"},
			Class: events.ClassInvalidRequest, Scope: events.ScopeModel, Failover: provider.Always, From: guides},
		{ID: "compatible.usage-limit", Types: []string{"usage_limit_reached"}, Statuses: []int{429},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: stated,
			From: "openai/codex codex-rs/codex-api, 2026-08"},
		{ID: "compatible.rate-code-long", Codes: []string{"rate_limit_exceeded", "rate_limited"},
			Phrases: perDay(), Where: notPayment, Class: events.ClassWindowExhausted, Scope: events.ScopeModel, Resets: resets, From: guides},
		{ID: "compatible.rate-code", Codes: []string{"rate_limit_exceeded", "rate_limited", "slow_down"},
			Where: notPayment, Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: resets, BySize: window, From: guides},
		{ID: "compatible.plan-window", Statuses: []int{429}, Strict: true,
			Phrases: []string{"usage limit reached", "usage limit has been reached", "plan limit reached", "daily limit",
				"monthly quota", "weekly limit", "weekly quota", "daily quota", "monthly limit", "individual quota reached"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: stated, From: routers, Confidence: provider.Medium},
		{ID: "compatible.stated-reset", Statuses: []int{429},
			Phrases: []string{"will reset at", "will reset in", "resets in", "resets at", "reset after"},
			Class:   events.ClassRateLimited, Resets: stated, BySize: window, From: routers, Confidence: provider.Medium},
		{ID: "compatible.rate-words", Phrases: []string{"rate limit"}, Statuses: []int{429},
			Class: events.ClassRateLimited, Resets: stated, From: catalogue},
	}
}

// notPayment: a 402 speaks of payment (R8), whatever general code it repeats.
func notPayment(l *provider.Look) bool { return l.Code != http.StatusPaymentRequired }

// perDay are the words by which a rate limit says that it is a day's.
func perDay() []string {
	return []string{"per day", "(rpd)", "(tpd)", "requests per day", "tokens per day"}
}

// limitZero finds "limit: 0" that is not the beginning of another number: no
// entitlement, which looks like a limit (B043).
func limitZero(l *provider.Look) bool { return provider.LimitZero(l.Env.Message) }

// Requests rows: the request itself is wrong.
func Requests() []provider.Rule {
	return []provider.Rule{
		{ID: "compatible.context-length", Codes: []string{"context_length_exceeded", "string_above_max_length"},
			Class: events.ClassInvalidRequest, From: guides},
		{ID: "compatible.bad-request", Codes: []string{"invalid_prompt", "invalid_value", "missing_required_parameter",
			"unsupported_parameter", "unsupported_value", "previous_response_not_found", "invalid_encrypted_content"},
			Class: events.ClassInvalidRequest, From: guides},
		{ID: "compatible.model-code", Codes: []string{"model_not_found", "model_not_available", "deploymentnotfound"},
			Class: events.ClassModelUnsupported, Scope: events.ScopeModel, From: guides},
		{ID: "compatible.model-words", Statuses: []int{404},
			Phrases: []string{"model"}, And: []string{"not found", "does not exist", "not exist", "no such model", "unknown model", "not supported"},
			Class: events.ClassModelUnsupported, Scope: events.ScopeModel, From: catalogue, Confidence: provider.Medium},
	}
}

// Accounts rows: the credential, the account or the host.
func Accounts() []provider.Rule {
	return []provider.Rule{
		{ID: "compatible.key-code", Codes: []string{"invalid_api_key", "incorrect_api_key"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: guides},
		{ID: "compatible.deactivated", Codes: []string{"account_deactivated"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: guides},
		{ID: "compatible.overloaded-code", Codes: []string{"server_is_overloaded", "overloaded", "engine_overloaded", "capacity_exceeded"},
			Class: events.ClassOverloaded, Resets: provider.RetryAfter(), From: guides},
		{ID: "compatible.overloaded-type", Types: []string{"service_unavailable_error", "overloaded_error"},
			Class: events.ClassOverloaded, Resets: provider.RetryAfter(), From: guides},
		{ID: "compatible.server-error-type", Types: []string{"server_error", "internal_server_error", "api_error"},
			Class: events.ClassServerError, Resets: provider.RetryAfter(), From: sdks},
		{ID: "compatible.server-error-code", Codes: []string{"server_error", "internal_error"},
			Class: events.ClassServerError, Resets: provider.RetryAfter(), From: sdks},
		{ID: "compatible.overloaded-503", Statuses: []int{503},
			Class: events.ClassOverloaded, Resets: provider.RetryAfter(), From: guides},
	}
}
