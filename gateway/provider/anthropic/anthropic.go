// Package anthropic is the Anthropic API with an API key, and what it shares
// with subscriptions: families, error rows and the unified quota headers.
package anthropic

import (
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// Provider is anthropic.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "anthropic",
		BaseURL:  "https://api.anthropic.com",
		Dialects: []events.Dialect{events.DialectAnthropic},
		Auth:     provider.XAPIKey,
		EnvKey:   "ANTHROPIC_API_KEY",
		Known:    []string{"claude-*"},
		Families: Families(),
		Headers:  http.Header{"Anthropic-Version": {"2023-06-01"}},
		Rules:    Rules(),
		InBand:   InBand,
		Group:    Group,
	}
}

// Families are the model classes whose limits Anthropic pools.
func Families() []events.Family {
	return []events.Family{
		{Name: "opus", Models: []string{"*opus*"}},
		{Name: "sonnet", Models: []string{"*sonnet*"}},
		{Name: "haiku", Models: []string{"*haiku*"}},
	}
}

// Group is the organisation, which limits are shared over.
func Group(h http.Header) string {
	if org := h.Get("Anthropic-Organization-Id"); org != "" {
		return "anthropic:" + org
	}
	return ""
}
