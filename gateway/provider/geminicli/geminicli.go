// Package geminicli is Google's Cloud Code backend with the account of the
// Gemini CLI. Its own wire form wraps requests; Waybill passes bodies as they
// are, so the base URL must be one that speaks the Gemini API.
package geminicli

import (
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/gemini"
	"github.com/waybill/waybill/gateway/provider/tree"
)

// Provider is gemini-cli.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "gemini-cli",
		BaseURL:  "https://cloudcode-pa.googleapis.com",
		Dialects: []events.Dialect{events.DialectGemini},
		Auth:     provider.Bearer,
		Known:    gemini.Known(),
		Families: gemini.Families(),
		Rules:    gemini.Rules(),
		Quota: &provider.Preset{
			Name: "gemini-cli-quota", Method: "POST", Path: "/v1internal:retrieveUserQuota", Body: "{}",
			Interval: 5 * time.Minute, Decode: decode,
			From: "google-gemini/gemini-cli code_assist/types.ts 5411f11, 2026-11",
		},
	}
}

// decode reads buckets: several per model are possible, the lowest wins. proto3
// JSON leaves a zero out, so a bucket with a reset and no fraction has none
// left.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	if !ok || !doc.IsObject() {
		return nil, fmt.Errorf("%w: no JSON object", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	byModel := map[string]int{}
	r := &events.Reading{}
	for _, n := range doc.Get("buckets").Items() {
		w, ok := Bucket(&g, n.Get("modelId").Text(), n)
		if !ok {
			continue
		}
		if i, seen := byModel[w.Name]; seen {
			if w.RemainingPercent.V < r.Windows[i].RemainingPercent.V {
				r.Windows[i] = w
			}
			continue
		}
		byModel[w.Name] = len(r.Windows)
		r.Windows = append(r.Windows, w)
	}
	return r, g.Err()
}

// Bucket is the window of one model: {remainingFraction, resetTime}.
func Bucket(g *provider.Gauge, model string, n tree.Node) (events.Window, bool) {
	left := provider.Percent(g.Number(n.Get("remainingFraction")))
	reset := g.Time(n.Get("resetTime").Text())
	if model == "" || !left.Set && reset == 0 {
		return events.Window{}, false
	}
	left.Set = true
	return events.Window{Name: model, Scope: events.Scope{Kind: events.ScopeModel, Name: model},
		RemainingPercent: left, Reported: true, ResetsAt: reset}, true
}
