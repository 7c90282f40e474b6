package console

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
)

//go:embed testdata/axe.min.js
var axe string

// sheet is one page of the console, as it is looked at.
type sheet struct {
	name, path string
	whole      string // a selector that is seen when the page is whole
	steps      []step // what is done then
	done       string // and what is seen after it
}

func sheets(w *world, t *testing.T) []sheet {
	refused, failover := w.request(t, noon), w.request(t, "2026-09-21T07:02:00Z")
	return []sheet{
		{name: "accounts", path: "/", whole: "li.account"},
		{name: "accounts-then", path: "/?at=" + noon, whole: "#past"},
		{name: "account", path: "/accounts/grok-build", whole: "#chart canvas", steps: []step{click("#do-release summary")}, done: "#release-send"},
		{name: "account-then", path: "/accounts/qwen-plan?at=" + evening, whole: "#chart canvas"},
		{name: "account-missing", path: "/accounts/nobody", whole: ".wrong"},
		{name: "requests", path: "/requests?since=2026-09-21T13:16:00Z&at=" + noon, whole: "#rows"},
		{name: "request-refused", path: "/requests/" + refused, whole: "#story"},
		{name: "request-failover", path: "/requests/" + failover, whole: "#story"},
		{name: "events", path: "/events?since=2026-09-21T07:00:00Z&at=2026-09-21T07:05:30Z", whole: "table"},
		{name: "event", path: "/events/90", whole: "#json"},
		{name: "usage", path: "/usage?by=client", whole: "#usage"},
		{name: "what-if", path: "/what-if", whole: "#run", steps: []step{set("#k-park_cap", "5m"), click("#run")}, done: "#result"},
		{name: "ledger", path: "/ledger", whole: "#head", steps: []step{click("#verify-now")}, done: "#verdict"},
	}
}

// pages looks at every page, light and dark, on a screen and on a phone: a picture is kept,
// axe finds nothing serious, and nothing is wider than the screen.
func pages(t *testing.T, w *world) {
	all := sheets(w, t)
	for _, l := range looks() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := w.open(t)
			b.look(l)
			b.to("/login")
			b.inspect("login", l)
			b.login()
			for _, s := range all {
				b.to(s.path)
				b.see(s.whole)
				if b.do(s.steps...); s.done != "" {
					b.see(s.done)
				}
				b.inspect(s.name, l)
			}
		})
	}
}

func (b *tab) inspect(name string, l look) {
	b.t.Helper()
	b.shoot(name + "." + l.name)
	if over := eval[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
		b.t.Errorf("%s, %s: %d px wider than the screen", name, l.name, over)
	}
	for _, v := range b.violations(l) {
		b.t.Errorf("%s, %s: %s", name, l.name, v)
	}
}

// violation is what axe says of one rule.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML, FailureSummary string }
}

// violations are what axe finds serious or critical.
func (b *tab) violations(l look) []string {
	b.t.Helper()
	if !eval[bool](b, "typeof axe === 'object'") {
		eval[any](b, axe+"; null")
	}
	found := eval[[]violation](b, `axe.run(document, {resultTypes: ["violations"], iframes: false, preload: false`+l.rules+`}).then(r => r.violations)`)
	var out []string
	for _, v := range found {
		if v.Impact != "serious" && v.Impact != "critical" {
			b.t.Logf("%s (%s): %s: %d times, first %.160s", v.ID, v.Impact, v.Help, len(v.Nodes), v.Nodes[0].HTML)
			continue
		}
		var at []string
		for i, n := range v.Nodes {
			if i < 3 {
				at = append(at, fmt.Sprintf("%.200s\n    %s", n.HTML, n.FailureSummary))
			}
		}
		out = append(out, fmt.Sprintf("%s (%s): %s, %d times\n  %s", v.ID, v.Impact, v.Help, len(v.Nodes), strings.Join(at, "\n  ")))
	}
	return out
}
