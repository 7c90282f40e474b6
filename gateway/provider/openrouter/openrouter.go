// Package openrouter is OpenRouter, which routes to upstreams of its own: most
// of its limits are theirs, and another account does not help against them.
package openrouter

import (
	"fmt"
	"slices"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
	"github.com/waybill/waybill/gateway/provider/tree"
)

// Provider is openrouter.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "openrouter",
		BaseURL:  "https://openrouter.ai/api/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "OPENROUTER_API_KEY",
		Families: []events.Family{{Name: "free", Models: []string{"*:free"}}},
		Surfaces: map[events.Dialect]provider.Surface{
			events.DialectAnthropic: {BaseURL: "https://openrouter.ai/api", Auth: provider.Bearer},
		},
		Rules: slices.Concat(rules(), compatible.Policy(), compatible.Requests(), compatible.Accounts()),
		Quota: &provider.Preset{
			Name: "openrouter-key", Path: "/api/v1/key", Interval: time.Minute,
			Coverage: []string{"free requests a day"}, Decode: decode, From: docs,
		},
	}
}

// decode reads the key's cap. limit_reset is the name of a period, not a time;
// rate_limit is deprecated and means nothing.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	d := doc.Get("data")
	if !ok || !d.IsObject() {
		return nil, fmt.Errorf("%w: no data", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	r := &events.Reading{}
	if limit, left := g.Number(d.Get("limit")), g.Number(d.Get("limit_remaining")); limit.Set && left.Set {
		r.Credit = &events.Credit{Reached: events.Bool(left.V <= 0), Limit: limit, Used: g.Number(d.Get("usage")),
			ResetsAt: provider.Turn(period(d.Get("limit_reset").Text()), at)}
		if limit.V > 0 {
			r.Credit.UsedPercent = events.Dec(provider.Share(limit.V-left.V, limit.V))
		}
	}
	free := d.Get("free_model_daily_requests")
	if used, limit := g.Number(free.Get("used")), g.Number(free.Get("limit")); used.Set && limit.Set && limit.V > 0 {
		w := events.Window{Name: "free requests a day", Scope: events.Scope{Kind: events.ScopeFamily, Name: "free"},
			Length: 24 * time.Hour, Used: used, Limit: limit, Reported: true, ResetsAt: provider.Turn("midnight_utc", at)}
		if left := g.Number(free.Get("remaining")); left.Set {
			w.RemainingPercent = events.Dec(provider.Share(left.V, limit.V))
		}
		r.Windows = []events.Window{w}
	}
	switch d.Get("is_free_tier").Flag() {
	case events.Yes:
		r.Billing = &events.Billing{Plan: events.PlanFree}
	case events.No:
		r.Billing = &events.Billing{Plan: events.PlanPaid}
	}
	return r, g.Err()
}

func period(name string) string {
	switch name {
	case "daily":
		return "midnight_utc"
	case "weekly":
		return "monday_00:00_UTC"
	case "monthly":
		return "month_start_utc"
	}
	return ""
}
