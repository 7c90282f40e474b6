package anthropic

import (
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// InBand reads the quota headers: the buckets of an API key, and the unified
// windows of a subscription, which come with every success.
func InBand(a *provider.Answer) *events.Reading {
	g := provider.Gauge{At: a.At, Header: a.Header}
	windows := g.Buckets(buckets, a.Model)
	top := topStatus(a.Header)
	for _, s := range spans(a.Header) {
		windows = append(windows, s.window(&g, top))
	}
	return g.Reading(windows)
}

// window is a unified window as a reading. Utilisation is a ratio here, unlike
// at the usage endpoint; a status is the provider's own flag.
func (s span) window(g *provider.Gauge, top string) events.Window {
	w := events.Window{Name: s.name, Scope: s.scope(), Length: s.length()}
	w.UsedPercent = provider.Percent(g.Text(s.utilization))
	w.Reported = w.UsedPercent.Set
	if s.reset != "0" {
		w.ResetsAt = g.Time(s.reset)
	}
	switch {
	case s.rejected(top):
		w.Reached = events.Yes
	case s.allowed():
		w.Reached = events.No
	}
	return w
}

// scope: a window whose family nobody documents ("7d_oi") gates nothing.
func (s span) scope() events.Scope {
	_, family, narrow := strings.Cut(s.name, "_")
	switch {
	case !narrow:
		return events.Scope{Kind: events.ScopeAccount}
	case known(family):
		return events.Scope{Kind: events.ScopeFamily, Name: family}
	}
	return events.Scope{Kind: events.ScopeNone}
}

func (s span) length() time.Duration {
	switch name, _, _ := strings.Cut(s.name, "_"); name {
	case "5h":
		return 5 * time.Hour
	case "7d":
		return 7 * 24 * time.Hour
	}
	return 0
}

// buckets are the headers of an API key's buckets, canonical: every answer is
// looked at.
var buckets = []provider.Bucket{
	provider.AMinute("requests", "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"),
	provider.AMinute("tokens", "Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"),
	provider.AMinute("input-tokens", "Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"),
	provider.AMinute("output-tokens", "Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"),
}
