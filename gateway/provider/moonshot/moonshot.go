// Package moonshot is the Moonshot (Kimi) API. Keys of its .ai and .cn hosts
// are not interchangeable: a 401 may mean the wrong host.
package moonshot

import (
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
	"github.com/waybill/waybill/gateway/provider/tree"
)

const (
	docs provider.Source = "platform.moonshot.ai API reference error types, 2026-11"
	help provider.Source = "platform.moonshot.ai help pages, 2026-11"
)

// Provider is moonshot.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "moonshot",
		BaseURL:  "https://api.moonshot.ai/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "MOONSHOT_API_KEY",
		Known:    []string{"moonshot-*", "kimi-*"},
		Rules:    append(rules(), compatible.Basics()...),
		Quota: &provider.Preset{
			Name: "moonshot-balance", Path: "/v1/users/me/balance", Interval: 5 * time.Minute, Decode: decode, From: docs,
		},
	}
}

func rules() []provider.Rule {
	rate := []string{"rate_limit_reached_error"}
	resets := append(provider.TryAgain(), provider.RetryAfter()...)
	return []provider.Rule{
		{ID: "moonshot.content", Types: []string{"content_filter"}, Class: events.ClassPolicyRefused, From: docs},
		// The reference says 429, a help page 403: the type decides under both.
		{ID: "moonshot.quota", Types: []string{"exceeded_current_quota_error"},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: docs},
		{ID: "moonshot.day", Types: rate, Phrases: []string{"tpd", "tokens per day"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeAccount, Resets: append(resets, provider.Calendar("midnight_UTC+8")),
			From: help, Confidence: provider.Low},
		{ID: "moonshot.rate", Types: rate,
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: resets, From: docs},
		{ID: "moonshot.overloaded", Types: []string{"engine_overloaded_error"},
			Class: events.ClassOverloaded, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: docs},
		{ID: "moonshot.key", Types: []string{"invalid_authentication_error", "incorrect_api_key_error"},
			Class: events.ClassAuthFailed, Scope: events.ScopeAccount, From: docs},
		{ID: "moonshot.permission", Types: []string{"permission_denied_error"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: docs},
	}
}

// decode: requests are refused from a balance of zero on; cash may be negative.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	g := provider.Gauge{At: at}
	left := g.Number(doc.At("data.available_balance"))
	if err := g.Err(); err != nil {
		return nil, err
	}
	if !ok || !left.Set {
		return nil, fmt.Errorf("%w: no data.available_balance", provider.ErrVoid)
	}
	return &events.Reading{Credit: &events.Credit{Available: events.Bool(left.V > 0), Reached: events.Bool(left.V <= 0)}}, nil
}
