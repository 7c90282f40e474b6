// Package deepseek is the DeepSeek API. It has no quota windows and no
// rate-limit headers; under load it holds the connection open.
package deepseek

import (
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
	"github.com/waybill/waybill/gateway/provider/tree"
)

const docs provider.Source = "api-docs.deepseek.com error codes and rate limit, 2026-11"

// Provider is deepseek.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "deepseek",
		BaseURL:  "https://api.deepseek.com/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "DEEPSEEK_API_KEY",
		Known:    []string{"deepseek-*"},
		Rules:    append(rules(), compatible.Basics()...),
		Quota: &provider.Preset{
			Name: "deepseek-balance", Path: "/user/balance", Interval: 5 * time.Minute, Decode: decode,
			From: "api-docs.deepseek.com get-user-balance, 2026-11",
		},
	}
}

// rules: the code of an empty balance lies (invalid_request_error), the status
// decides.
func rules() []provider.Rule {
	return []provider.Rule{
		{ID: "deepseek.balance", Statuses: []int{402},
			Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: docs},
		{ID: "deepseek.rate", Statuses: []int{429},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: docs},
		{ID: "deepseek.overloaded", Statuses: []int{503},
			Class: events.ClassOverloaded, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: docs},
		{ID: "deepseek.server-error", Statuses: []int{500},
			Class: events.ClassServerError, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: docs},
	}
}

// decode: is_available is the verdict; amounts are text, in several currencies.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	available := doc.Get("is_available").Flag()
	if !ok || available == events.Absent {
		return nil, fmt.Errorf("%w: no is_available", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	for _, n := range doc.All("balance_infos[].total_balance") {
		g.Number(n)
	}
	return &events.Reading{Credit: &events.Credit{Available: available, Reached: events.Bool(available == events.No)}}, g.Err()
}
