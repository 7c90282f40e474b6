package copilot

import (
	"net/url"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

const (
	clients provider.Source = "microsoft/vscode-copilot-chat and other clients' error tables, 2026-11"
	general provider.Source = "general knowledge, not read in a source, 2026-11"
)

const (
	premiumHeader = "X-Quota-Snapshot-Premium_interactions"
	sessionHeader = "X-Usage-Ratelimit-Session"
	weeklyHeader  = "X-Usage-Ratelimit-Weekly"
)

func rules() []provider.Rule {
	return observed(limits(), allowances(), rest())
}

func observed(lists ...[]provider.Rule) []provider.Rule {
	var out []provider.Rule
	for _, l := range lists {
		for _, r := range l {
			r.Confidence = max(r.Confidence, provider.Medium)
			if r.From == "" {
				r.From = clients
			}
			out = append(out, r)
		}
	}
	return out
}

func limits() []provider.Rule {
	spent := []provider.Reset{turn(sessionHeader), turn(weeklyHeader)}
	resets := append(spent, provider.RetryAfter()...)
	return []provider.Rule{
		{ID: "copilot.client-limit", Codes: []string{"integration_rate_limited", "agent_mode_limit_exceeded"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: provider.RetryAfter(), Failover: provider.OtherEndpoint},
		{ID: "copilot.user-model", Codes: []string{"user_model_rate_limited"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: resets, BySize: window},
		{ID: "copilot.user", Codes: []string{"user_global_rate_limited"},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: resets, BySize: window},
		{ID: "copilot.window", Codes: []string{"user_weekly_rate_limited", "session_quota_exceeded"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: resets},
		{ID: "copilot.rate", Codes: []string{"rate_limited"},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: resets, BySize: window},
		{ID: "copilot.upstream", Codes: []string{"model_overloaded", "upstream_provider_rate_limit"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), Failover: provider.OtherEndpoint},
		{ID: "copilot.503", Statuses: []int{503},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), Failover: provider.OtherEndpoint},
	}
}

const window = 300 * time.Second

// allowances: a 402 that is a month's allowance and refills.
func allowances() []provider.Rule {
	month := provider.Calendar("month_start_utc")
	return []provider.Rule{
		{ID: "copilot.premium", Codes: []string{"quota_exceeded", "free_quota_exceeded"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeFamily, Resets: []provider.Reset{turn(premiumHeader), month}},
		{ID: "copilot.overage", Codes: []string{"overage_limit_reached", "additional_spend_limit_reached"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: []provider.Reset{month}},
		{ID: "copilot.billing", Codes: []string{"billing_not_configured"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true},
	}
}

func rest() []provider.Rule {
	return []provider.Rule{
		{ID: "copilot.model", Codes: []string{"model_not_supported"},
			Class: events.ClassForbidden, Scope: events.ScopeModel, From: general, Confidence: provider.Low},
		{ID: "copilot.content", Statuses: []int{400, 422}, Phrases: []string{"responsible ai service"},
			Class: events.ClassPolicyRefused, From: general, Confidence: provider.Low},
	}
}

// turn reads rst of a header that is a query string.
func turn(header string) provider.Reset {
	return provider.Taken(func(l *provider.Look) (string, string) {
		q, err := url.ParseQuery(l.Header.Get(header))
		if err != nil || q.Get("rst") == "" {
			return "", ""
		}
		return q.Get("rst"), "header:" + lower(header) + ".rst"
	})
}
