// Package xai is the xAI API, and the error rows that it shares with Grok
// Build.
package xai

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

// Provider is xai.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "xai",
		BaseURL:  "https://api.x.ai/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "XAI_API_KEY",
		Known:    []string{"grok-*"},
		Rules:    Rules(),
		InBand:   InBand,
	}
}

// Rules are xAI's rows and those of its protocol.
func Rules() []provider.Rule { return append(rules(), compatible.Basics()...) }
