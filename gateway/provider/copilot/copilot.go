// Package copilot is GitHub Copilot, undocumented: several clients agree on
// what follows. A code may carry a plan behind a colon.
package copilot

import (
	"slices"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

// Provider is github-copilot.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "github-copilot",
		BaseURL:  "https://api.githubcopilot.com",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		Known:    []string{"gpt-*", "claude-*", "gemini-*", "grok-*", "o1*", "o3*", "o4*", "text-embedding-*"},
		// Models that cost premium requests; the plans' base models are left out.
		Families: []events.Family{{Name: "premium", Models: []string{"claude-*", "gemini-*", "grok-*", "o1*", "o3*", "o4*",
			"gpt-4.5*", "gpt-5", "gpt-5.*", "gpt-5-codex*"}}},
		Rules:  slices.Concat(rules(), compatible.Policy(), compatible.Requests(), compatible.Accounts()),
		InBand: inBand,
		Quota: &provider.Preset{
			Name: "copilot-user", Origin: "https://api.github.com", Path: "/copilot_internal/user", Interval: 5 * time.Minute,
			Coverage: []string{"premium"}, Decode: decode, From: "steipete/CodexBar Providers/Copilot, 2026-11", Confidence: provider.Medium,
		},
	}
}
