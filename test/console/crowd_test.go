package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/upstream"
)

// longest is an account's id as long as one may be.
const longest = "the-longest-name-that-an-account-may-have.team-of-the-night_0064"

// crowded is a gateway of 200 accounts, some with long names, and nothing asked
// of it yet.
func crowded(t *testing.T) *world {
	t.Helper()
	up := upstream.New(t)
	up.Script("*", upstream.Good)
	var b strings.Builder
	b.WriteString("clients: [{id: app, key: app-key}]\naccounts:\n")
	for i := range 200 {
		id := fmt.Sprintf("openrouter-%03d", i)
		if i == 7 {
			id = longest
		}
		fmt.Fprintf(&b, "  - {id: %s, provider: openai-compatible, api_key: k%d, base_url: %s, quota_group: group-%d, quota: {source: push}}\n", id, i, up.URL(), i%20)
	}
	w := &world{up: up, gate: binary.New(t, b.String(), "WAYBILL_ADMIN_TOKEN="+token)}
	w.gate.Up()
	w.ask(t, "POST", "/accounts/"+longest+"/readings", reading("a-window-whose-name-is-as-long-as-any-provider-may-think-of", 3), nil)
	w.ask(t, "POST", "/accounts/openrouter-003/park", map[string]any{"reason": strings.Repeat("a reason that goes on and on, ", 20), "for": "2h"}, nil)
	return w
}

// reading is what a scraper pushes of one window.
func reading(window string, left int) map[string]any {
	return map[string]any{"source": "push", "windows": []any{map[string]any{"name": window, "remaining_percent": left, "reported": true}}}
}

// crowdSheets are the pages that many accounts, long names and nothing recorded
// make another picture of.
func crowdSheets() []sheet {
	return []sheet{
		{name: "crowd-accounts", path: "/?name=openrouter-00", whole: "li.account"},
		{name: "crowd-account", path: "/accounts/" + longest, whole: "#timeline table, #timeline .empty"},
		{name: "crowd-account-parked", path: "/accounts/openrouter-003", whole: "#timeline table"},
		{name: "empty-requests", path: "/requests", whole: ".empty"},
		{name: "empty-search", path: "/?name=nobody", whole: ".empty"},
		{name: "empty-usage", path: "/usage", whole: ".empty"},
		{name: "empty-ledger", path: "/ledger", whole: "#head"},
		{name: "missing-page", path: "/nowhere", whole: ".wrong"},
	}
}

// crowd looks at a gateway of 200 accounts.
func crowd(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	b.to("/")
	if n := len(b.texts("li.account")); n != 200 {
		t.Errorf("%d accounts are shown", n)
	}
	b.shoot("crowd-all.light")
	b.to("/?name=64")
	b.see("li.account")
	if names := b.texts("li.account h2"); len(names) == 0 || names[0] != longest && names[len(names)-1] != longest {
		t.Errorf("a search finds %q", names)
	}
	all := looks()
	for _, l := range []look{all[0], all[len(all)-1]} { // the widest and light, the narrowest and dark
		b.look(l)
		for _, s := range crowdSheets() {
			b.to(s.path)
			b.see(s.whole)
			b.inspect(s.name, l)
		}
	}
}
