// Package openai is the OpenAI API: api.openai.com, chat completions,
// responses and embeddings.
package openai

import (
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

// Provider is openai.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "openai",
		BaseURL:  "https://api.openai.com/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "OPENAI_API_KEY",
		Known: []string{"gpt-*", "chatgpt-*", "codex-*", "o1*", "o3*", "o4*", "text-embedding-*", "omni-moderation-*",
			"text-moderation-*", "dall-e-*", "tts-*", "whisper-*", "davinci-*", "babbage-*", "computer-use-*", "sora-*", "ft:*"},
		Rules:  append(rules(), compatible.Rules()...),
		InBand: compatible.InBand,
		Group:  group,
	}
}

// group is organisation and project together: limits are the organisation's,
// but spend limits may be the project's alone, and a group must not be wider
// than its evidence.
func group(h http.Header) string {
	org, project := h.Get("Openai-Organization"), h.Get("Openai-Project")
	switch {
	case org == "":
		return ""
	case project == "":
		return "openai:" + org
	}
	return "openai:" + org + "/" + project
}
