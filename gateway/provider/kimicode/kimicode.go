// Package kimicode is the Kimi Code plan. Its types say nothing: the wording
// tells a window from a lock.
package kimicode

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
	"github.com/waybill/waybill/gateway/provider/tree"
)

const (
	plan  provider.Source = "forum.moonshot.ai thread 191 and kimi-code client wordings, 2026-11"
	usage provider.Source = "api.kimi.com/coding/v1/usages as read by CodexBar, 2026-11"
)

// Provider is kimi-code.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "kimi-code",
		BaseURL:  "https://api.kimi.com/coding/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "KIMI_API_KEY",
		Known:    []string{"kimi-*"},
		Rules:    append(rules(), compatible.Basics()...),
		Quota: &provider.Preset{
			Name: "kimi-code-usages", Path: "/coding/v1/usages", Interval: 5 * time.Minute,
			Coverage: []string{"5h", "7d"}, Decode: decode, From: usage,
		},
	}
}

// rules: "monthly" is tested before "billing cycle", which it may hold too. The
// resets of windows stand at the usage endpoint only.
func rules() []provider.Rule {
	window := func(id string, statuses []int, phrases ...string) provider.Rule {
		return provider.Rule{ID: id, Statuses: statuses, Phrases: phrases, Class: events.ClassWindowExhausted,
			Scope: events.ScopeAccount, From: plan, Confidence: provider.Medium}
	}
	both := []int{403, 429}
	return []provider.Rule{
		window("kimi-code.month", both, "kimi monthly usage limit", "monthly usage limit"),
		window("kimi-code.five-hours", both, "usage limit for this period", "5-hour usage limit"),
		window("kimi-code.week", both, "usage limit for this billing cycle", "weekly usage limit", "weekly"),
		{ID: "kimi-code.rate", Statuses: []int{429}, Phrases: []string{"receiving too many requests"},
			Class: events.ClassRateLimited, Scope: events.ScopeAccount, Resets: provider.RetryAfter(), From: plan, Confidence: provider.Medium},
		{ID: "kimi-code.overloaded", Statuses: []int{429, 503}, Phrases: []string{"engine is currently overloaded"},
			Class: events.ClassOverloaded, Scope: events.ScopeEndpoint, Resets: provider.RetryAfter(), From: plan, Confidence: provider.Medium},
		// Neither a balance nor a window: tried again in minutes.
		{ID: "kimi-code.membership", Statuses: []int{402}, Phrases: []string{"unable to verify your membership benefits"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, From: plan, Confidence: provider.Medium},
		{ID: "kimi-code.client", Statuses: []int{403}, Phrases: []string{"only available for coding agents"},
			Class: events.ClassForbidden, Scope: events.ScopeEndpoint, Failover: provider.Never, From: plan, Confidence: provider.Medium},
		{ID: "kimi-code.terminated", Statuses: []int{403}, Phrases: []string{"access terminated"},
			Class: events.ClassForbidden, Scope: events.ScopeAccount, Permanent: true, From: plan, Confidence: provider.Medium},
	}
}

// decode: numbers are strings, used may be absent; usage is the week, limits[]
// the shorter windows.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	if !ok || !doc.IsObject() {
		return nil, fmt.Errorf("%w: no JSON object", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	r := &events.Reading{}
	if w, ok := detail(&g, doc.Get("usage"), 7*24*time.Hour); ok {
		r.Windows = append(r.Windows, w)
	}
	for _, n := range doc.Get("limits").Items() {
		if w, ok := detail(&g, n.Get("detail"), length(n.Get("window"))); ok {
			r.Windows = append(r.Windows, w)
		}
	}
	return r, g.Err()
}

func detail(g *provider.Gauge, n tree.Node, length time.Duration) (events.Window, bool) {
	w := events.Window{Name: name(length), Scope: events.Scope{Kind: events.ScopeAccount}, Length: length,
		Used: g.Number(n.Get("used")), Limit: g.Number(n.Get("limit")), ResetsAt: g.Time(n.Get("resetTime").Text())}
	if left := g.Number(n.Get("remaining")); left.Set && w.Limit.Set && w.Limit.V > 0 {
		w.RemainingPercent = events.Dec(provider.Share(left.V, w.Limit.V))
	}
	w.Reported = w.RemainingPercent.Set || w.Used.Set && w.Limit.Set && w.Limit.V > 0
	return w, n.IsObject()
}

func name(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	return strconv.Itoa(int(d/time.Hour)) + "h"
}

func length(n tree.Node) time.Duration {
	count, _ := n.Get("duration").Int()
	count = max(0, min(count, 1e6))
	switch unit := n.Get("timeUnit").Text(); {
	case strings.HasSuffix(unit, "MINUTE"):
		return time.Duration(count) * time.Minute
	case strings.HasSuffix(unit, "HOUR"):
		return time.Duration(count) * time.Hour
	case strings.HasSuffix(unit, "DAY"):
		return time.Duration(count) * 24 * time.Hour
	}
	return 0
}
