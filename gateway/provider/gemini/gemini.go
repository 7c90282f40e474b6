// Package gemini is the Gemini API with an API key, and what it shares with
// Google's other front doors: the decision order of google.rpc errors.
package gemini

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// Provider is gemini.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "gemini",
		BaseURL:  "https://generativelanguage.googleapis.com",
		Dialects: []events.Dialect{events.DialectGemini},
		Auth:     provider.XGoogAPIKey,
		EnvKey:   "GEMINI_API_KEY",
		Known:    Known(),
		Families: Families(),
		Surfaces: map[events.Dialect]provider.Surface{
			events.DialectOpenAI: {BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Auth: provider.Bearer},
		},
		Rules: Rules(),
	}
}

// Known are the models of the Gemini API.
func Known() []string {
	return []string{"gemini-*", "models/gemini-*", "gemma-*", "models/gemma-*", "text-embedding-004", "embedding-001",
		"models/text-embedding-*", "models/embedding-*", "imagen-*", "veo-*", "learnlm-*", "aqa"}
}

// Families are the tiers whose quota Google pools for subscriptions.
func Families() []events.Family {
	return []events.Family{
		{Name: "flash-lite", Models: []string{"*flash-lite*"}},
		{Name: "flash", Models: []string{"*flash*"}},
		{Name: "pro", Models: []string{"gemini-*pro*", "models/gemini-*pro*"}},
	}
}
