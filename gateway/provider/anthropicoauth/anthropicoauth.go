// Package anthropicoauth is Anthropic with the OAuth token of a subscription.
package anthropicoauth

import (
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/anthropic"
)

// Provider is anthropic-oauth. The beta header is what makes the API take such
// a token; it names no client.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "anthropic-oauth",
		BaseURL:  "https://api.anthropic.com",
		Dialects: []events.Dialect{events.DialectAnthropic},
		Auth:     provider.Bearer,
		Known:    []string{"claude-*"},
		Families: anthropic.Families(),
		Headers:  http.Header{"Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"oauth-2025-04-20"}},
		Rules:    anthropic.Rules(),
		InBand:   anthropic.InBand,
		Group:    anthropic.Group,
		Quota:    usage(),
	}
}
