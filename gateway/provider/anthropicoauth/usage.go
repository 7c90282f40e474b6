package anthropicoauth

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/anthropic"
	"github.com/waybill/waybill/gateway/provider/tree"
)

// usage is the OAuth usage endpoint. It limits itself hard; a 429 of it says
// nothing about inference. Its windows have the names that the unified headers
// give them, since they are the same windows.
func usage() *provider.Preset {
	return &provider.Preset{
		Name:     "anthropic-usage",
		Path:     "/api/oauth/usage",
		Header:   http.Header{"Anthropic-Beta": {"oauth-2025-04-20"}},
		Interval: 5 * time.Minute,
		Coverage: []string{"5h", "7d", "7d_opus", "7d_sonnet"},
		Decode:   decode,
		From:     "steipete/CodexBar ClaudeOAuthUsageFetcher.swift, 2026-11",
	}
}

// decode: percentages are 0 to 100 here, unlike the headers' ratios.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	if !ok || !doc.IsObject() {
		return nil, fmt.Errorf("%w: no JSON object", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	r := &events.Reading{}
	for _, n := range doc.Get("limits").Items() {
		if w, ok := limit(&g, n); ok {
			r.Windows = append(r.Windows, w)
		}
	}
	for _, flat := range []struct{ key, name string }{
		{"five_hour", "5h"}, {"seven_day", "7d"}, {"seven_day_opus", "7d_opus"}, {"seven_day_sonnet", "7d_sonnet"},
	} {
		n := doc.Get(flat.key)
		known := slices.ContainsFunc(r.Windows, func(w events.Window) bool { return w.Name == flat.name })
		if n.IsObject() && !known { // limits[] supersedes the flat keys
			r.Windows = append(r.Windows, window(&g, flat.name, n.Get("utilization"), n.Get("resets_at")))
		}
	}
	return r, g.Err()
}

// limit reads one row of limits[]; inactive ones count too. One that is scoped
// to a surface or to a model that no family holds gates nothing here.
func limit(g *provider.Gauge, n tree.Node) (events.Window, bool) {
	switch n.Get("kind").Text() {
	case "session":
		return window(g, "5h", n.Get("percent"), n.Get("resets_at")), true
	case "weekly_all":
		return window(g, "7d", n.Get("percent"), n.Get("resets_at")), true
	case "weekly_scoped":
		display := strings.ToLower(n.At("scope.model.display_name").Text())
		w := window(g, "7d_"+display, n.Get("percent"), n.Get("resets_at"))
		for _, f := range anthropic.Families() {
			if display != "" && strings.Contains(display, f.Name) {
				w.Name, w.Scope = "7d_"+f.Name, events.Scope{Kind: events.ScopeFamily, Name: f.Name}
			}
		}
		return w, display != ""
	}
	return events.Window{}, false
}

func window(g *provider.Gauge, name string, percent, reset tree.Node) events.Window {
	w := events.Window{Name: name, UsedPercent: g.Number(percent), ResetsAt: g.Time(reset.Text())}
	w.Reported = w.UsedPercent.Set
	span, family, scoped := strings.Cut(name, "_")
	w.Length = 7 * 24 * time.Hour
	if span == "5h" {
		w.Length = 5 * time.Hour
	}
	w.Scope = events.Scope{Kind: events.ScopeAccount}
	if scoped {
		w.Scope = events.Scope{Kind: events.ScopeNone}
		if slices.ContainsFunc(anthropic.Families(), func(f events.Family) bool { return f.Name == family }) {
			w.Scope = events.Scope{Kind: events.ScopeFamily, Name: family}
		}
	}
	return w
}
