// Package groq is Groq. Its headers have OpenAI's names and other windows:
// requests are per day, tokens per minute.
package groq

import (
	"slices"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

const (
	docs  provider.Source = "console.groq.com/docs/rate-limits and /errors, 2026-11"
	spend provider.Source = "console.groq.com/docs/spend-limits, 2026-11"
)

// Provider is groq.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "groq",
		BaseURL:  "https://api.groq.com/openai/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "GROQ_API_KEY",
		Known: []string{"llama-*", "llama3-*", "gemma*", "whisper-*", "playai-*", "distil-whisper-*", "groq/*", "meta-llama/*",
			"openai/gpt-oss-*", "qwen/*", "moonshotai/*", "canopylabs/*", "allam-*"},
		Rules:  slices.Concat(rules(), compatible.Basics(), compatible.Money()),
		InBand: inBand,
	}
}

func rules() []provider.Rule {
	code := []string{"rate_limit_exceeded"}
	resets := append(append(provider.RetryAfter(), provider.Message("try again in", "")), provider.SpentBucket())
	return []provider.Rule{
		// The bucket of a day rolls, so the hint is exact.
		{ID: "groq.day", Codes: code, Phrases: []string{"per day", "(tpd)", "(rpd)"},
			Class: events.ClassWindowExhausted, Scope: events.ScopeModel, Resets: resets, From: docs},
		{ID: "groq.too-large", Codes: code, Where: func(l *provider.Look) bool { return l.Code == 413 }, // never inside a stream
			Class: events.ClassInvalidRequest, Scope: events.ScopeModel, Failover: provider.Always, From: docs},
		{ID: "groq.rate", Codes: code,
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: resets, BySize: 300 * time.Second, From: docs},
		{ID: "groq.spend", Codes: []string{"blocked_api_access"}, Class: events.ClassCreditsExhausted, Scope: events.ScopeAccount,
			Resets: []provider.Reset{provider.Calendar("first-of-next-month")}, From: spend},
		{ID: "groq.flex-capacity", Statuses: []int{498},
			Class: events.ClassOverloaded, Scope: events.ScopeModel, Resets: provider.RetryAfter(), From: docs},
	}
}

func inBand(a *provider.Answer) *events.Reading {
	r := compatible.InBand(a)
	if r == nil {
		return nil
	}
	for i := range r.Windows {
		if r.Windows[i].Name == "requests" {
			r.Windows[i].Name, r.Windows[i].Length = "requests a day", 24*time.Hour
		}
	}
	return r
}
