// Package minimax is MiniMax. Errors often ride in HTTP 200, as
// base_resp.status_code; newer surfaces end their text in "(1008)".
package minimax

import (
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
	"github.com/waybill/waybill/gateway/provider/tree"
)

const (
	codes   provider.Source = "platform.minimax.io error codes as read by CodexBar, 2026-11"
	general provider.Source = "general knowledge, not read in a source, 2026-11"
)

// Provider is minimax.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "minimax",
		BaseURL:  "https://api.minimax.io/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		EnvKey:   "MINIMAX_API_KEY",
		Known:    []string{"MiniMax-*", "minimax-*", "abab*"},
		Surfaces: map[events.Dialect]provider.Surface{
			events.DialectAnthropic: {BaseURL: "https://api.minimax.io/anthropic", Auth: provider.Bearer},
		},
		Rules: append(rules(), compatible.Basics()...),
		Quota: &provider.Preset{
			Name: "minimax-remains", Path: "/v1/api/openplatform/coding_plan/remains", Interval: 5 * time.Minute, Decode: decode,
			From: codes, Confidence: provider.Medium,
		},
	}
}

func rules() []provider.Rule {
	row := func(id string, class events.Class, scope events.ScopeKind, list ...string) provider.Rule {
		return provider.Rule{ID: id, Codes: list, Class: class, Scope: scope, From: codes, Confidence: provider.Medium}
	}
	burst := row("minimax.rate", events.ClassRateLimited, events.ScopeAccount, "1002", "1039", "1041", "2045")
	burst.Resets = append(provider.RetryAfter(), provider.Message("try again in", ""))
	old := row("minimax.server-other", events.ClassServerError, events.ScopeAccount, "1000", "1001")
	old.From, old.Confidence = general, provider.Low
	bad := row("minimax.invalid-other", events.ClassInvalidRequest, events.ScopeUnset, "20132", "1042")
	bad.From, bad.Confidence = general, provider.Low
	return []provider.Rule{
		row("minimax.policy", events.ClassPolicyRefused, events.ScopeUnset, "1026", "1027"),
		row("minimax.balance", events.ClassCreditsExhausted, events.ScopeAccount, "1008"),
		row("minimax.window", events.ClassWindowExhausted, events.ScopeAccount, "2056"),
		burst,
		row("minimax.key", events.ClassAuthFailed, events.ScopeAccount, "1004", "2049"),
		row("minimax.not-in-plan", events.ClassForbidden, events.ScopeModel, "2061"),
		row("minimax.server", events.ClassServerError, events.ScopeAccount, "1013", "1024", "1033"),
		row("minimax.invalid", events.ClassInvalidRequest, events.ScopeUnset, "2013"),
		old, bad,
	}
}

// decode: current_interval_usage_count is read as the *remaining* count by some
// parsers in spite of its name, so only the percentage is a report.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, ok := tree.Parse(b)
	if code := doc.At("base_resp.status_code").Text(); !ok || code != "" && code != "0" {
		return nil, fmt.Errorf("%w: status %.8q", provider.ErrVoid, code)
	}
	g := provider.Gauge{At: at}
	r := &events.Reading{}
	for _, n := range doc.Get("model_remains").Items() {
		model := n.Get("model_name").Text()
		if model == "" {
			continue
		}
		w := events.Window{Name: model, Scope: events.Scope{Kind: events.ScopeModel, Name: model},
			Limit:            g.Number(n.Get("current_interval_total_count")),
			RemainingPercent: g.Number(n.Get("current_interval_remaining_percent")),
			ResetsAt:         g.Time(n.Get("end_time").Text())}
		w.Reported = w.RemainingPercent.Set
		if start := g.Time(n.Get("start_time").Text()); start != 0 && w.ResetsAt > start {
			w.Length = w.ResetsAt.Sub(start)
		}
		r.Windows = append(r.Windows, w)
	}
	return r, g.Err()
}
