// Package antigravity is Google's Cloud Code backend with the account of
// Antigravity: quota is the account's, by family of models, the Gemini ones and
// the others.
package antigravity

import (
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/gemini"
	"github.com/waybill/waybill/gateway/provider/geminicli"
	"github.com/waybill/waybill/gateway/provider/tree"
)

// Provider is antigravity.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "antigravity",
		BaseURL:  "https://cloudcode-pa.googleapis.com",
		Dialects: []events.Dialect{events.DialectGemini},
		Auth:     provider.Bearer,
		Known:    []string{"gemini-*", "claude-*", "gpt-oss-*"},
		Families: []events.Family{
			{Name: "gemini", Models: []string{"gemini-*"}},
			{Name: "claude-gpt", Models: []string{"claude-*", "gpt-*"}},
		},
		Rules: gemini.For(events.ScopeFamily),
		Quota: &provider.Preset{
			Name: "antigravity-quota", Method: "POST", Path: "/v1internal:fetchAvailableModels", Body: "{}",
			Interval: 5 * time.Minute, Decode: decode, Confidence: provider.Medium,
			From: "router-for-me/CLIProxyAPI antigravity_executor_credits.go and CodexBar docs, 2026-11",
		},
	}
}

// decode reads models.<id>.quotaInfo. An answer in which everything is whole
// may be mere availability; it says room, which a 429 outranks anyway.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	if !ok || !doc.IsObject() {
		return nil, fmt.Errorf("%w: no JSON object", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	r := &events.Reading{}
	models := doc.Get("models")
	for _, id := range models.Keys() {
		if w, ok := geminicli.Bucket(&g, id, models.Get(id).Get("quotaInfo")); ok {
			r.Windows = append(r.Windows, w)
		}
	}
	return r, g.Err()
}
