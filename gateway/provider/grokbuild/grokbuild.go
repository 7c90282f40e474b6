// Package grokbuild is xAI with the subscription token of Grok Build.
package grokbuild

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/tree"
	"github.com/waybill/waybill/gateway/provider/xai"
)

// Provider is grok-build.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "grok-build",
		BaseURL:  "https://cli-chat-proxy.grok.com/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		Known:    []string{"grok-*"},
		Rules:    xai.Rules(),
		InBand:   xai.InBand,
		Quota: &provider.Preset{
			Name: "grok-billing", Path: "/v1/billing?format=credits",
			// The header says what kind of token the bearer token is.
			Header:   http.Header{"X-Xai-Token-Auth": {"xai-grok-cli"}},
			Interval: 5 * time.Minute, Coverage: []string{"credits"}, Decode: decode,
			From: "xai-org/grok-build xai-grok-shell extensions/billing.rs 19d42e3, 2026-11",
		},
	}
}

// decode: amounts are cents in {val}; proto3 JSON leaves zeros out, so a missing
// percentage beside a present period is 0. Without a period nothing is known.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	if !ok || !doc.Get("config").IsObject() {
		return nil, fmt.Errorf("%w: no config", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	c := doc.Get("config")
	r := &events.Reading{}
	w := events.Window{Name: "credits", Scope: events.Scope{Kind: events.ScopeAccount}}
	if period := c.Get("currentPeriod"); period.IsObject() {
		w.ResetsAt = g.Time(period.Get("end").Text())
		w.Length = lengthOf(period.Get("type").Text())
		w.UsedPercent = g.Number(c.Get("creditUsagePercent"))
		w.UsedPercent.Set = true
	} else if limit := g.Number(c.At("monthlyLimit.val")); limit.Set && limit.V > 0 { // deprecated form
		w.ResetsAt, w.Limit = g.Time(c.Get("billingPeriodEnd").Text()), limit
		w.Used = g.Number(c.At("used.val"))
		w.Used.Set = true
		w.UsedPercent = events.Dec(provider.Share(w.Used.V, limit.V))
	}
	if w.UsedPercent.Set {
		w.Reported = true
		w.Reached = events.Bool(w.UsedPercent.V >= 100*events.DecimalUnit && !overflow(&g, doc))
		r.Windows = []events.Window{w}
		r.Billing = &events.Billing{Plan: plan(doc.Get("subscriptionTier").Text()), PeriodEnd: w.ResetsAt}
	}
	return r, g.Err()
}

// overflow says that on-demand room or a prepaid balance serves on.
func overflow(g *provider.Gauge, doc tree.Node) bool {
	c := doc.Get("config")
	if g.Number(c.At("prepaidBalance.val")).V > 0 {
		return true
	}
	limit, used := g.Number(c.At("onDemandCap.val")), g.Number(c.At("onDemandUsed.val"))
	return doc.Get("onDemandEnabled").Flag() == events.Yes && used.V < limit.V
}

func lengthOf(kind string) time.Duration {
	switch {
	case strings.HasSuffix(kind, "WEEKLY"):
		return 7 * 24 * time.Hour
	case strings.HasSuffix(kind, "MONTHLY"):
		return 30 * 24 * time.Hour
	}
	return 0
}

func plan(tier string) events.Plan {
	switch t := strings.ToLower(tier); {
	case t == "":
		return events.PlanUnknown
	case strings.Contains(t, "free"):
		return events.PlanFree
	}
	return events.PlanPaid
}
