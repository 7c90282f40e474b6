package copilot

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/tree"
)

func lower(s string) string { return strings.ToLower(s) }

// inBand reads the snapshot headers; rem is a percentage *remaining*, ent -1 is
// unlimited.
func inBand(a *provider.Answer) *events.Reading {
	g := provider.Gauge{At: a.At, Header: a.Header}
	var windows []events.Window
	for _, h := range []struct {
		header, name string
		scope        events.Scope
		length       time.Duration
		snapshot     bool
	}{
		{premiumHeader, "premium", premium(), 0, true},
		{sessionHeader, "session", events.Scope{Kind: events.ScopeAccount}, 5 * time.Hour, false},
		{weeklyHeader, "7d", events.Scope{Kind: events.ScopeAccount}, 7 * 24 * time.Hour, false},
	} {
		q, err := url.ParseQuery(a.Header.Get(h.header))
		left := g.Text(q.Get("rem"))
		entitled := g.Text(q.Get("ent"))
		if err != nil || !left.Set || entitled.V < 0 || h.snapshot && entitled.V == 0 {
			continue // unlimited, or a placeholder
		}
		windows = append(windows, events.Window{Name: h.name, Scope: h.scope, Length: h.length,
			RemainingPercent: left, Reported: true, ResetsAt: g.Time(q.Get("rst"))})
	}
	return g.Reading(windows)
}

func premium() events.Scope { return events.Scope{Kind: events.ScopeFamily, Name: "premium"} }

// decode reads quota_snapshots. One with an entitlement of zero or without an
// id is a placeholder: shown, but it reports nothing.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	if !ok || !doc.IsObject() {
		return nil, fmt.Errorf("%w: no JSON object", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	r := &events.Reading{}
	reset := g.Time(doc.Get("quota_reset_date").Text())
	if n := doc.At("quota_snapshots.premium_interactions"); n.IsObject() {
		r.Windows = append(r.Windows, snapshot(&g, n, reset))
	}
	if plan := doc.Get("copilot_plan").Text(); plan != "" {
		r.Billing = &events.Billing{Plan: events.PlanPaid, PeriodEnd: reset}
		if strings.Contains(strings.ToLower(plan), "free") {
			r.Billing.Plan = events.PlanFree
		}
	}
	return r, g.Err()
}

func snapshot(g *provider.Gauge, n tree.Node, reset events.Time) events.Window {
	w := events.Window{Name: "premium", Scope: premium(), ResetsAt: reset}
	entitled, left := g.Number(n.Get("entitlement")), g.Number(n.Get("percent_remaining"))
	if n.Get("unlimited").Flag() == events.Yes {
		w.Reached = events.No
		return w
	}
	if entitled.V <= 0 || n.Get("quota_id").Text() == "" {
		return w
	}
	w.Limit, w.RemainingPercent, w.Reported = entitled, left, left.Set
	if n.Get("overage_permitted").Flag() == events.Yes {
		w.Reached = events.No // the allowance may be overdrawn
	}
	return w
}
