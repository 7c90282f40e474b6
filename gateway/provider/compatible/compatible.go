// Package compatible is any upstream that speaks OpenAI's protocol and is not
// in the catalogue by name, and the rows that such upstreams share. It claims
// no more than the protocol's usual words.
package compatible

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// Provider is openai-compatible. Its base URL must be configured.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "openai-compatible",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		Rules:    Rules(),
		InBand:   InBand,
	}
}
