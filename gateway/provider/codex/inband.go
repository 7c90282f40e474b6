package codex

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// family is a limit with headers of its own: "x-codex-" is the subscription,
// "x-codex-bengalfox-" a metered limit.
type family struct{ prefix, id string }

func slots() []string { return []string{"primary", "secondary"} }

// families finds the limits of an answer by the suffix that each has.
func families(h http.Header) []family {
	var out []family
	for key := range h {
		if !strings.HasPrefix(key, "X-Codex-") {
			continue
		}
		k := strings.ToLower(key)
		for _, slot := range slots() {
			prefix, ok := strings.CutSuffix(k, slot+"-used-percent")
			if !ok {
				continue
			}
			id := strings.Trim(strings.TrimPrefix(prefix, "x-codex-"), "-")
			if !slices.ContainsFunc(out, func(f family) bool { return f.prefix == prefix }) {
				out = append(out, family{prefix, id})
			}
		}
	}
	slices.SortFunc(out, func(a, b family) int { return strings.Compare(a.prefix, b.prefix) })
	return out
}

// inBand reads the windows of the subscription and of metered limits, and
// whether credits may serve beyond them.
func inBand(a *provider.Answer) *events.Reading {
	g := provider.Gauge{At: a.At, Header: a.Header}
	var windows []events.Window
	for _, f := range families(a.Header) {
		for _, slot := range slots() {
			if w, ok := f.window(&g, slot); ok {
				w.Scope = f.scope(a)
				windows = append(windows, w)
			}
		}
	}
	r := g.Reading(windows)
	if r != nil {
		r.Credit = creditHeaders(a.Header)
	}
	return r
}

// window: one that was never used, without length and reset, is no data.
func (f family) window(g *provider.Gauge, slot string) (events.Window, bool) {
	name := f.prefix + slot
	used := g.Text(g.Header.Get(name + "-used-percent"))
	minutes := g.Text(g.Header.Get(name + "-window-minutes"))
	reset := g.Time(g.Header.Get(name + "-reset-at"))
	if !used.Set || used.V == 0 && !minutes.Set && reset == 0 {
		return events.Window{}, false
	}
	length := time.Duration(0)
	if minutes.Set && minutes.V > 0 && minutes.V < 1e6*events.DecimalUnit {
		length = time.Duration(minutes.V/events.DecimalUnit) * time.Minute
	}
	w := events.Window{Name: spanName(length, slot), Length: length, UsedPercent: used, Reported: true, ResetsAt: reset}
	if f.id != "" {
		w.Name = f.id + " " + w.Name
	}
	return w, true
}

// scope: a metered limit gates the model of the answer when it is the one that
// applied; which models it gates else, nothing says.
func (f family) scope(a *provider.Answer) events.Scope {
	active := strings.ReplaceAll(strings.ToLower(a.Header.Get("X-Codex-Active-Limit")), "_", "-")
	switch {
	case f.id == "":
		return events.Scope{Kind: events.ScopeAccount}
	case strings.TrimPrefix(active, "codex-") == f.id:
		return events.Scope{Kind: events.ScopeModel, Name: a.Model}
	}
	return events.Scope{Kind: events.ScopeNone}
}

// spanName names a window by its length, which is its identity: a plan's
// primary window may be the weekly one.
func spanName(length time.Duration, slot string) string {
	switch {
	case length == 0:
		return slot
	case length%(24*time.Hour) == 0:
		return strconv.Itoa(int(length/(24*time.Hour))) + "d"
	case length%time.Hour == 0:
		return strconv.Itoa(int(length/time.Hour)) + "h"
	}
	return strconv.Itoa(int(length/time.Minute)) + "m"
}

func creditHeaders(h http.Header) *events.Credit {
	has, unlimited := flag(h.Get("X-Codex-Credits-Has-Credits")), flag(h.Get("X-Codex-Credits-Unlimited"))
	switch {
	case has == events.Yes || unlimited == events.Yes:
		return &events.Credit{Available: events.Yes}
	case has == events.No:
		return &events.Credit{Available: events.No}
	}
	return nil
}

func flag(s string) events.OptBool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "1":
		return events.Yes
	case "false", "0":
		return events.No
	}
	return events.Absent
}
