// Package catalogue is the explicit table of the providers that Waybill knows.
// Only commands import it: the gateway itself names no provider.
package catalogue

import (
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/anthropic"
	"github.com/waybill/waybill/gateway/provider/anthropicoauth"
	"github.com/waybill/waybill/gateway/provider/antigravity"
	"github.com/waybill/waybill/gateway/provider/azure"
	"github.com/waybill/waybill/gateway/provider/bedrock"
	"github.com/waybill/waybill/gateway/provider/cerebras"
	"github.com/waybill/waybill/gateway/provider/codex"
	"github.com/waybill/waybill/gateway/provider/codingplan"
	"github.com/waybill/waybill/gateway/provider/compatible"
	"github.com/waybill/waybill/gateway/provider/copilot"
	"github.com/waybill/waybill/gateway/provider/dashscope"
	"github.com/waybill/waybill/gateway/provider/deepseek"
	"github.com/waybill/waybill/gateway/provider/fireworks"
	"github.com/waybill/waybill/gateway/provider/gemini"
	"github.com/waybill/waybill/gateway/provider/geminicli"
	"github.com/waybill/waybill/gateway/provider/grokbuild"
	"github.com/waybill/waybill/gateway/provider/groq"
	"github.com/waybill/waybill/gateway/provider/kimicode"
	"github.com/waybill/waybill/gateway/provider/minimax"
	"github.com/waybill/waybill/gateway/provider/mistral"
	"github.com/waybill/waybill/gateway/provider/moonshot"
	"github.com/waybill/waybill/gateway/provider/openai"
	"github.com/waybill/waybill/gateway/provider/openrouter"
	"github.com/waybill/waybill/gateway/provider/together"
	"github.com/waybill/waybill/gateway/provider/tokenplan"
	"github.com/waybill/waybill/gateway/provider/vertex"
	"github.com/waybill/waybill/gateway/provider/xai"
	"github.com/waybill/waybill/gateway/provider/zai"
)

// All lists every provider, in the order in which people look for them. Adding
// one is a directory and a line here.
func All() []*provider.Provider {
	return []*provider.Provider{
		openai.Provider(),
		codex.Provider(),
		anthropic.Provider(),
		anthropicoauth.Provider(),
		gemini.Provider(),
		geminicli.Provider(),
		vertex.Provider(),
		antigravity.Provider(),
		xai.Provider(),
		grokbuild.Provider(),
		openrouter.Provider(),
		deepseek.Provider(),
		moonshot.Provider(),
		kimicode.Provider(),
		zai.Provider(),
		dashscope.Provider(),
		codingplan.Provider(),
		tokenplan.Provider(),
		minimax.Provider(),
		groq.Provider(),
		cerebras.Provider(),
		mistral.Provider(),
		together.Provider(),
		fireworks.Provider(),
		azure.Provider(),
		bedrock.Provider(),
		copilot.Provider(),
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
