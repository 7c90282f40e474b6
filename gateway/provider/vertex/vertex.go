// Package vertex is Google Vertex AI. The default base URL is express mode;
// with a project it is
// https://LOCATION-aiplatform.googleapis.com/v1/projects/P/locations/L/publishers/google,
// and a credential command gives the token.
package vertex

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/gemini"
)

// Provider is vertex.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "vertex",
		BaseURL:  "https://aiplatform.googleapis.com/v1/publishers/google",
		Dialects: []events.Dialect{events.DialectGemini},
		Auth:     provider.Bearer,
		Known:    gemini.Known(),
		Families: gemini.Families(),
		Rules:    append(shared(), gemini.Rules()...),
	}
}

// shared: with pay as you go a 429 without details is the capacity that all
// customers share, and no window of the account.
func shared() []provider.Rule {
	bare := func(l *provider.Look) bool { return !l.Env.Root.At("error.details").Exists() }
	return []provider.Rule{
		{ID: "vertex.shared-quota", Statuses: []int{429}, Types: []string{"resource_exhausted"}, Where: bare,
			Class: events.ClassRateLimited, Scope: events.ScopeModel, Resets: provider.RetryAfter(),
			From: "cloud.google.com dynamic shared quota, 2026-11", Confidence: provider.Low},
	}
}
