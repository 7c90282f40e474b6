package gemini

import (
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

const (
	gcli  provider.Source = "google-gemini/gemini-cli googleQuotaErrors.ts 5411f11, 2026-11"
	cpa   provider.Source = "router-for-me/CLIProxyAPI json_retry_helpers.go, 2026-11"
	docs  provider.Source = "ai.google.dev error codes and python-genai errors.py, 2026-08"
	forum provider.Source = "discuss.ai.google.dev thread 183654, 2026-10"
	gate  provider.Source = "dev.to Gemini API 429 limit is 0, 2026-10"
)

// terminal is gemini-cli's: a longer delay is a window.
const terminal = 300*time.Second + time.Microsecond

// RetryInfo and its companions, best first.
func delays() []provider.Reset {
	return []provider.Reset{
		provider.Body("error.details[ErrorInfo].metadata.quotaResetTimeStamp"),
		provider.Body("error.details[RetryInfo].retryDelay"),
		provider.Body("error.details[ErrorInfo].metadata.quotaResetDelay"),
		provider.Message("retry in", ""),
		provider.Message("reset after", ""),
		provider.RetryAfter()[1],
	}
}

// Rules are the rows of the Gemini API: per project and model.
func Rules() []provider.Rule { return For(events.ScopeModel) }

// For are the rows with the scope that a spent quota has: the model of the
// project, or the model's family on subscriptions.
func For(quota events.ScopeKind) []provider.Rule {
	out := reasons(quota)
	out = append(out, quotas(quota)...)
	out = append(out, states()...)
	return append(out, accounts()...)
}

// reasons: ErrorInfo.reason beats everything but policy.
func reasons(quota events.ScopeKind) []provider.Rule {
	return []provider.Rule{
		{ID: "google.g1-credits", Codes: []string{"insufficient_g1_credits_balance"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: gcli},
		{ID: "google.capacity", Codes: []string{"model_capacity_exhausted", "model_capacity_exceeded"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: gcli},
		{ID: "google.validation", Codes: []string{"validation_required"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, Failover: provider.Never, From: gcli},
		{ID: "google.unsupported-client", Codes: []string{"unsupported_client"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, Failover: provider.Never, From: gcli, Confidence: provider.Medium},
		{ID: "google.key-invalid", Codes: []string{"api_key_invalid", "api_key_expired", "access_token_expired", "credentials_missing"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: docs},
		{ID: "google.suspended", Codes: []string{"consumer_suspended", "service_disabled", "billing_disabled", "api_key_service_blocked"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: docs, Confidence: provider.Medium},
		{ID: "google.quota-exhausted", Codes: []string{"quota_exhausted"},
			Class: events.ClassWindowExhausted, Scope: quota, Resets: delays(), From: gcli},
		{ID: "google.rate-limit", Codes: []string{"rate_limit_exceeded"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: delays(), BySize: terminal, From: cpa},
	}
}

// quotas: what a RESOURCE_EXHAUSTED is about. The words "quota" and "billing"
// stand in every one of them and say nothing.
func quotas(quota events.ScopeKind) []provider.Rule {
	exhausted := []string{"resource_exhausted"}
	zero := func(l *provider.Look) bool { return provider.LimitZero(l.Env.Message) }
	daily := append([]provider.Reset{
		{Source: "body:error.details[RetryInfo].retryDelay", AtLeast: time.Hour}, // shorter ones are made up
	}, provider.Calendar("midnight_pacific"))
	return []provider.Rule{
		{ID: "google.limit-zero", Types: exhausted, Where: zero,
			Class: events.ClassForbidden, Scope: events.ScopeModel, Failover: provider.Always, From: gate},
		{ID: "google.prepaid-402", Statuses: []int{402}, Types: exhausted,
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: forum, Confidence: provider.Medium},
		{ID: "google.prepaid", Types: exhausted, Phrases: []string{"prepayment credits are depleted"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: forum, Confidence: provider.Medium},
		{ID: "google.per-day", Quotas: []string{"perday", "daily"},
			Class: events.ClassWindowExhausted, Scope: quota, Resets: daily, From: gcli},
		{ID: "google.per-minute", Quotas: []string{"perminute"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: delays(), BySize: terminal, From: gcli},
		{ID: "google.exhausted", Types: exhausted,
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: delays(), BySize: terminal, From: gcli},
	}
}

// states: google.rpc status words that are no limit.
func states() []provider.Rule {
	return []provider.Rule{
		{ID: "google.unavailable", Types: []string{"unavailable"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: docs},
		{ID: "google.internal", Types: []string{"internal", "deadline_exceeded", "unknown", "aborted"},
			Class: events.ClassServerError, Resets: provider.RetryAfter(), From: docs},
		{ID: "google.model", Types: []string{"not_found"}, Phrases: []string{"model"},
			Class: events.ClassModelUnsupported, Scope: events.ScopeModel, From: docs},
		{ID: "google.overloaded-503", Statuses: []int{503},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: docs},
		{ID: "google.cancelled-499", Statuses: []int{499},
			Class: events.ClassServerError, From: gcli, Confidence: provider.Medium},
	}
}

// accounts: the credential or where we call from.
func accounts() []provider.Rule {
	return []provider.Rule{
		{ID: "google.key-words", Types: []string{"invalid_argument"}, Phrases: []string{"api key not valid", "api key expired"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: docs},
		{ID: "google.unauthenticated", Types: []string{"unauthenticated"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: docs},
		{ID: "google.location", Types: []string{"failed_precondition"}, Phrases: []string{"location is not supported"},
			Class: events.ClassForbidden, Scope: events.ScopeEndpoint, Failover: provider.OtherEndpoint, From: docs},
		{ID: "google.billing", Types: []string{"failed_precondition"}, Phrases: []string{"billing"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, Failover: provider.Always, From: docs, Confidence: provider.Medium},
	}
}
