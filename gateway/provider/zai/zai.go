// Package zai is Z.ai (Zhipu, GLM). Its HTTP status says nothing: a 429 may be
// a burst, an empty balance or a lock; the business code decides, also where
// the Anthropic surface hides it in "[1310][text][request-id]".
package zai

import (
	"fmt"
	"strconv"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
	"github.com/waybill/waybill/gateway/provider/tree"
)

// Provider is zai. A coding plan's base URL is
// https://api.z.ai/api/coding/paas/v4; its key on the pay-as-you-go URL is
// answered with 1113, as an empty balance is.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "zai",
		BaseURL:  "https://api.z.ai/api/paas/v4",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "ZAI_API_KEY",
		Known:    []string{"glm-*", "cogview-*", "embedding-*"},
		Surfaces: map[events.Dialect]provider.Surface{
			events.DialectAnthropic: {BaseURL: "https://api.z.ai/api/anthropic", Auth: provider.Bearer},
		},
		Rules: append(rules(), compatible.Basics()...),
		Quota: &provider.Preset{
			Name: "zai-quota", Path: "/api/monitor/usage/quota/limit", Interval: 5 * time.Minute,
			Coverage: []string{"5h", "7d"}, Decode: decode,
			From: "steipete/CodexBar Providers/Zai, 2026-11",
		},
	}
}

// decode: HTTP 200 may carry success false. TIME_LIMIT is the allowance of
// tools and gates no model.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	if !ok || doc.Get("success").Flag() == events.No || !doc.Get("data").IsObject() {
		return nil, fmt.Errorf("%w: no data", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	r := &events.Reading{}
	for _, n := range doc.All("data.limits[]") {
		kind := n.Get("type").Text()
		w := events.Window{Length: length(n), Scope: events.Scope{Kind: events.ScopeAccount},
			UsedPercent: g.Number(n.Get("percentage")), ResetsAt: g.Time(n.Get("nextResetTime").Text())}
		w.Reported = w.UsedPercent.Set
		w.Name = name(w.Length)
		switch kind {
		case "TIME_LIMIT":
			w.Name, w.Length, w.Scope = "tools", 0, events.Scope{Kind: events.ScopeNone}
		case "CREDIT_LIMIT":
			w.Name = "credit " + w.Name
		}
		r.Windows = append(r.Windows, w)
	}
	return r, g.Err()
}

// length: unit 1 is a day, 3 an hour, 6 a week; 5 is ambiguous.
func length(n tree.Node) time.Duration {
	unit, _ := n.Get("unit").Int()
	number, _ := n.Get("number").Int()
	count := time.Duration(max(0, min(number, 1000)))
	switch unit {
	case 1:
		return count * 24 * time.Hour
	case 3:
		return count * time.Hour
	case 6:
		return count * 7 * 24 * time.Hour
	}
	return 0
}

func name(d time.Duration) string {
	switch {
	case d == 0:
		return "month"
	case d%(24*time.Hour) == 0:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	return strconv.Itoa(int(d/time.Hour)) + "h"
}
