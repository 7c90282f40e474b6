// Package tokenplan is Alibaba's Token Plan. Its usage is shown by a console
// that needs a browser's cookie; without one the account learns from its 429s.
package tokenplan

import (
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/codingplan"
	"github.com/waybill/waybill/gateway/provider/compatible"
	"github.com/waybill/waybill/gateway/provider/dashscope"
	"github.com/waybill/waybill/gateway/provider/tree"
)

// Provider is alibaba-token-plan. Its preset has no address of its own: the
// config names the console's URL and the headers that it wants.
func Provider() *provider.Provider {
	return &provider.Provider{
		ID:       "alibaba-token-plan",
		BaseURL:  "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
		Dialects: []events.Dialect{events.DialectOpenAI},
		Auth:     provider.Bearer,
		Known:    dashscope.Known(),
		Rules:    append(append(codingplan.Rules(), dashscope.Rules()...), compatible.Basics()...),
		Quota: &provider.Preset{
			Name: "token-plan-console", Interval: 5 * time.Minute, Coverage: []string{"5h", "7d"}, Decode: decode,
			From: "steipete/CodexBar Providers/Alibaba, 2026-11", Confidence: provider.Low,
		},
	}
}

// maxWrapped is how often the console wraps its payload, as text or object.
const maxWrapped = 8

// decode finds the payload, which is JSON nested as text within JSON. The
// "percentages" are ratios from 0 to 1.
func decode(b []byte, at events.Time) (*events.Reading, error) {
	doc, _ := tree.Parse(b)
	n, ok := find(doc, maxWrapped)
	if !ok {
		return nil, fmt.Errorf("%w: no per5HourPercentage", provider.ErrVoid)
	}
	g := provider.Gauge{At: at}
	r := &events.Reading{}
	for _, w := range []struct {
		name, key string
		length    time.Duration
	}{{"5h", "per5Hour", 5 * time.Hour}, {"7d", "per1Week", 7 * 24 * time.Hour}} {
		used := provider.Percent(g.Number(n.Get(w.key + "Percentage")))
		if !used.Set {
			continue
		}
		r.Windows = append(r.Windows, events.Window{Name: w.name, Scope: events.Scope{Kind: events.ScopeAccount}, Length: w.length,
			UsedPercent: used, Reported: true, ResetsAt: g.Time(n.Get(w.key + "ResetTime").Text())})
	}
	return r, g.Err()
}

func find(n tree.Node, depth int) (tree.Node, bool) {
	if n.Get("per5HourPercentage").Exists() || n.Get("per1WeekPercentage").Exists() {
		return n, true
	}
	if depth == 0 {
		return tree.Node{}, false
	}
	if n.IsString() {
		inner, ok := tree.Parse([]byte(n.Text()))
		if !ok {
			return tree.Node{}, false
		}
		return find(inner, depth-1)
	}
	for _, key := range n.Keys() {
		if key == "data" || key == "DataV2" || key == "Data" {
			if found, ok := find(n.Get(key), depth-1); ok {
				return found, true
			}
		}
	}
	return tree.Node{}, false
}
