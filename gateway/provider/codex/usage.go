package codex

import (
	"fmt"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/tree"
)

// usage is wham/usage. Polling it gently is no inference and costs no quota.
func usage() *provider.Preset {
	return &provider.Preset{
		Name:     "codex-usage",
		Path:     "/backend-api/wham/usage",
		Interval: 5 * time.Minute,
		Coverage: []string{"5h", "7d"},
		Decode:   decode,
		From:     "steipete/CodexBar CodexOAuthUsageFetcher.swift and openai/codex models, 2026-11",
	}
}

func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	if !ok || !doc.IsObject() {
		return nil, fmt.Errorf("%w: no JSON object", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	r := &events.Reading{}
	r.Windows = append(r.Windows, limit(&g, doc.Get("rate_limit"), "", events.ScopeAccount)...)
	r.Windows = append(r.Windows, limit(&g, doc.Get("code_review_rate_limit"), "code review", events.ScopeNone)...)
	for _, extra := range doc.Get("additional_rate_limits").Items() {
		// Nothing says which models a metered limit gates: shown, gating none.
		r.Windows = append(r.Windows, limit(&g, extra.Get("rate_limit"), extra.Get("limit_name").Text(), events.ScopeNone)...)
	}
	r.Credit = credit(&g, doc)
	if plan := strings.ToLower(doc.Get("plan_type").Text()); plan != "" {
		r.Billing = &events.Billing{Plan: events.PlanPaid}
		if plan == "free" || plan == "guest" {
			r.Billing.Plan = events.PlanFree
		}
	}
	return r, g.Err()
}

// limit reads the windows of one limit. limit_reached speaks of all of them:
// false clears each, true belongs to those that are full, else to the fullest.
func limit(g *provider.Gauge, n tree.Node, prefix string, scope events.ScopeKind) []events.Window {
	var out []events.Window
	for _, slot := range []string{"primary_window", "secondary_window", "monthly_window"} {
		w := n.Get(slot)
		if !w.IsObject() {
			continue
		}
		seconds, _ := w.Get("limit_window_seconds").Int()
		length := time.Duration(max(0, min(seconds, 1e9))) * time.Second
		name := spanName(length, strings.TrimSuffix(slot, "_window"))
		if prefix != "" {
			name = prefix + " " + name
		}
		used := g.Number(w.Get("used_percent"))
		out = append(out, events.Window{Name: name, Scope: events.Scope{Kind: scope}, Length: length,
			UsedPercent: used, Reported: used.Set, ResetsAt: g.Time(w.Get("reset_at").Text())})
	}
	return flagged(out, n.Get("limit_reached").Flag())
}

func flagged(out []events.Window, reached events.OptBool) []events.Window {
	if reached == events.Absent || len(out) == 0 {
		return out
	}
	fullest := 0
	for i := range out {
		out[i].Reached = events.No
		if out[i].UsedPercent.V > out[fullest].UsedPercent.V {
			fullest = i
		}
	}
	if reached == events.No {
		return out
	}
	for i := range out {
		if i == fullest || out[i].UsedPercent.V >= 100*events.DecimalUnit {
			out[i].Reached = events.Yes
		}
	}
	return out
}

// credit is the spend control of a member and what it says of models. Credits
// that are there do not help while spend_control is reached.
func credit(g *provider.Gauge, doc tree.Node) *events.Credit {
	c := &events.Credit{Reached: doc.At("spend_control.reached").Flag()}
	for _, path := range []string{"individual_limit", "rate_limit.individual_limit", "spend_control.individual_limit"} {
		if n := doc.At(path); n.IsObject() {
			spend(g, c, n)
			break
		}
	}
	credits := doc.Get("credits")
	switch has, unlimited := credits.Get("has_credits").Flag(), credits.Get("unlimited").Flag(); {
	case c.Reached == events.Yes:
		c.Available = events.No
	case has == events.Yes || unlimited == events.Yes:
		c.Available = events.Yes
	case has == events.No:
		c.Available = events.No
	}
	models := doc.Get("model_usage")
	for _, name := range models.Keys() {
		m := models.Get(name)
		c.Models = append(c.Models, events.ModelCredit{Model: name, Available: m.Get("available").Flag(),
			CreditsWouldEnable: m.Get("credits_would_enable").Flag()})
	}
	return c
}

func spend(g *provider.Gauge, c *events.Credit, n tree.Node) {
	c.Used, c.Limit = g.Number(n.Get("used")), g.Number(n.Get("limit"))
	c.UsedPercent = g.Number(n.Get("used_percent"))
	if left := g.Number(n.Get("remaining_percent")); !c.UsedPercent.Set && left.Set {
		c.UsedPercent = events.Dec(100*events.DecimalUnit - left.V)
	}
	for _, key := range []string{"reset_at", "resets_at", "resetsAt"} {
		if t := g.Time(n.Get(key).Text()); t != 0 {
			c.ResetsAt = t
			return
		}
	}
}
