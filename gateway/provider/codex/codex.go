// Package codex is the backend of ChatGPT subscriptions (Codex). It speaks the
// Responses API; the account id that it wants stands in the account's own
// headers (ChatGPT-Account-Id), never in this table.
package codex

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

// Provider is chatgpt-codex.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "chatgpt-codex",
		BaseURL:  "https://chatgpt.com/backend-api/codex",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		Known:    []string{"gpt-*", "codex-*"},
		Rules:    append(rules(), compatible.Basics()...),
		InBand:   inBand,
		Quota:    usage(),
	}
}
