package anthropic

import (
	"net/http"
	"slices"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/when"
)

const unifiedPrefix = "Anthropic-Ratelimit-Unified-"

// span is one window of the unified headers ("5h", "7d", "7d_opus").
type span struct {
	name        string
	status      string // allowed, allowed_warning, rejected, "" unknown
	utilization string // ratio 0 to 1, may exceed 1
	reset       string
}

// spans lists the windows that an answer names, in order of their names. What
// looks like a window and is none (overage, grace, fallback) is left out.
func spans(h http.Header) []span {
	var out []span
	for key, v := range h {
		rest, ok := strings.CutPrefix(key, unifiedPrefix)
		if !ok || len(v) == 0 {
			continue
		}
		name, what, ok := cutLast(strings.ToLower(rest))
		if !ok || noWindow(name) {
			continue
		}
		i := slices.IndexFunc(out, func(s span) bool { return s.name == name })
		if i < 0 {
			i, out = len(out), append(out, span{name: name})
		}
		switch what {
		case "status":
			out[i].status = strings.ToLower(strings.TrimSpace(v[0]))
		case "utilization":
			out[i].utilization = v[0]
		case "reset":
			out[i].reset = v[0]
		}
	}
	slices.SortFunc(out, func(a, b span) int { return strings.Compare(a.name, b.name) })
	return out
}

func cutLast(s string) (name, what string, ok bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return "", "", false
	}
	name, what = s[:i], s[i+1:]
	return name, what, what == "status" || what == "utilization" || what == "reset"
}

func noWindow(name string) bool {
	for _, p := range []string{"overage", "grace", "fallback", "representative", "upgrade"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// topStatus is the status over all windows.
func topStatus(h http.Header) string {
	return strings.ToLower(strings.TrimSpace(h.Get(unifiedPrefix + "Status")))
}

// rejected: the window says so, or the whole is rejected and this one is full
// without a status of its own.
func (s span) rejected(top string) bool {
	if s.status != "" {
		return s.status == "rejected"
	}
	d, ok := events.ParseDecimal(s.utilization)
	return ok && d >= events.DecimalUnit && top == "rejected"
}

func (s span) allowed() bool { return s.status == "allowed" || s.status == "allowed_warning" }

// shared windows gate every model of the account.
func (s span) shared() bool { return s.name == "5h" || s.name == "7d" }

// sharedRejected: the five-hour or the weekly window is spent.
func sharedRejected(l *provider.Look) bool {
	top := topStatus(l.Header)
	return slices.ContainsFunc(spans(l.Header), func(s span) bool { return s.shared() && s.rejected(top) })
}

// familyRejected: the shared windows have room and one of a model family is
// spent, or the extra usage that this family needs is.
func familyRejected(l *provider.Look) bool {
	top := topStatus(l.Header)
	if top != "rejected" {
		return false
	}
	all := spans(l.Header)
	room := 0
	narrow := strings.Contains(strings.ToLower(l.Header.Get(unifiedPrefix+"Representative-Claim")), "overage")
	for _, s := range all {
		if s.shared() && s.allowed() {
			room++
		}
		if !s.shared() && s.rejected(top) {
			narrow = true
		}
	}
	return narrow && room == 2
}

// rejectedFamily is the family of the spent window, else that of the model.
func rejectedFamily(l *provider.Look) events.Scope {
	top := topStatus(l.Header)
	for _, s := range spans(l.Header) {
		if s.shared() || !s.rejected(top) {
			continue
		}
		if _, name, ok := strings.Cut(s.name, "_"); ok && known(name) {
			return events.Scope{Kind: events.ScopeFamily, Name: name}
		}
	}
	return events.Scope{} // the model's own, see Rule.Scope
}

func known(family string) bool {
	return slices.ContainsFunc(Families(), func(f events.Family) bool { return f.Name == family })
}

// rejectedReset is the latest reset among the rejected windows only.
func rejectedReset() provider.Reset {
	return provider.Taken(func(l *provider.Look) (string, string) {
		top, clock := topStatus(l.Header), when.Clock{At: l.At}
		var latest events.Time
		value, source := "", ""
		for _, s := range spans(l.Header) {
			if !s.rejected(top) {
				continue
			}
			if r := clock.Parse(s.reset, when.Auto); r.Kind == when.Future && r.At > latest {
				latest, value = r.At, s.reset
				source = "header:" + strings.ToLower(unifiedPrefix) + s.name + "-reset"
			}
		}
		return value, source
	})
}
