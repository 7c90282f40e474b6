package codex

import (
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/when"
)

const (
	source provider.Source = "openai/codex codex-rs/codex-api rate_limits.rs and api_bridge.rs, 2026-08"
	cpa    provider.Source = "router-for-me/CLIProxyAPI codex_executor_terminal.go, 2026-11"
)

// reached is the header that says which limit it was.
const reached = "X-Codex-Rate-Limit-Reached-Type"

func rules() []provider.Rule {
	return append(limits(), accounts()...)
}

func limits() []provider.Rule {
	usage := []string{"usage_limit_reached"}
	resets := []provider.Reset{
		provider.Body("error.resets_at"),
		{Source: "body:error.resets_in_seconds", Unit: when.Seconds},
		fullWindow(),
		provider.RetryAfter()[1],
	}
	burst := append(provider.RetryAfter(), provider.Message("try again in", ""))
	return []provider.Rule{
		// A rolling window's reset does not bring credits back: no hint.
		{ID: "codex.credits-depleted", Types: usage, Headers: []provider.HeaderIs{{Name: reached, Contains: "credits_depleted"}},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: source},
		{ID: "codex.spend-limit", Types: usage, Headers: []provider.HeaderIs{{Name: reached, Contains: "usage_limit_reached"}},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: source},
		{ID: "codex.metered-limit", Types: usage, Where: otherLimit,
			Class: events.ClassWindowExhausted, Scope: events.ScopeModel, Resets: resets, From: source},
		{ID: "codex.usage-limit", Types: usage,
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: resets, From: source},
		{ID: "codex.insufficient-quota", Codes: []string{"insufficient_quota"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, From: source},
		{ID: "codex.burst-code", Codes: []string{"rate_limit_exceeded"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: burst, BySize: 300 * time.Second, From: source},
		{ID: "codex.burst", Types: []string{"rate_limit_error", "rate_limit_exceeded"},
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: burst, BySize: 300 * time.Second, From: source},
		{ID: "codex.overloaded", Codes: []string{"server_is_overloaded", "slow_down"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: source},
		{ID: "codex.at-capacity", Statuses: []int{429, 503}, Phrases: []string{"model is at capacity"},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: source},
	}
}

// otherLimit: the limit that applied is a metered one of a model, not the
// subscription's.
func otherLimit(l *provider.Look) bool {
	active := l.Header.Get("X-Codex-Active-Limit")
	return active != "" && !strings.EqualFold(active, "codex")
}

// fullWindow is the latest reset among the windows that are full.
func fullWindow() provider.Reset {
	return provider.Taken(func(l *provider.Look) (string, string) {
		value, source := "", ""
		var latest events.Time
		for _, f := range families(l.Header) {
			for _, slot := range slots() {
				name := f.prefix + slot
				used, ok := events.ParseDecimal(l.Header.Get(name + "-used-percent"))
				if !ok || used < 100*events.DecimalUnit {
					continue
				}
				v := l.Header.Get(name + "-reset-at")
				if r := (when.Clock{At: l.At}).Parse(v, when.Auto); r.At > latest {
					latest, value, source = r.At, v, "header:"+name+"-reset-at"
				}
			}
		}
		return value, source
	})
}

func accounts() []provider.Rule {
	return []provider.Rule{
		{ID: "codex.not-included", Types: []string{"usage_not_included"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: source},
		{ID: "codex.not-included-code", Codes: []string{"usage_not_included"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: source},
		{ID: "codex.workspace", Codes: []string{"deactivated_workspace"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: cpa},
		{ID: "codex.deactivated", Statuses: []int{401, 403}, Phrases: []string{"deactivated"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: source, Confidence: provider.Medium},
		{ID: "codex.token", Codes: []string{"token_expired", "token_invalidated", "refresh_token_reused", "token_revoked"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: source},
	}
}
