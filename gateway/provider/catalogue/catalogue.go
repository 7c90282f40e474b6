// Package catalogue is the explicit table of the providers that Waybill knows.
// Only commands import it: the gateway itself names no provider.
package catalogue

import (
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/anthropic"
	"github.com/waybill/waybill/gateway/provider/compatible"
	"github.com/waybill/waybill/gateway/provider/gemini"
	"github.com/waybill/waybill/gateway/provider/openai"
)

// All lists every provider, in the order in which people look for them. Adding
// one is a directory and a line here.
func All() []*provider.Provider {
	return []*provider.Provider{
		openai.Provider(),
		anthropic.Provider(),
		gemini.Provider(),
		compatible.Provider(),
	}
}

// Find finds a provider by its id, nil when there is none.
func Find(id string) *provider.Provider {
	for _, p := range All() {
		if p.ID == id {
			return p
		}
	}
	return nil
}
