package gateway

import (
	"net/http"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/gateway/provider"
)

func routesOf(t *testing.T) map[string]*route {
	t.Helper()
	out := map[string]*route{}
	for i, o := range dialect.Operations() {
		out[o.Dialect.String()+"."+o.Name] = &route{Operation: o, index: i}
	}
	return out
}

func TestADialectIsSpokenWhereItsProviderSpeaksIt(t *testing.T) {
	routes := routesOf(t)
	all := make([]*route, len(routes))
	for _, r := range routes {
		all[r.index] = r
	}
	p := &provider.Provider{ID: "p", BaseURL: "https://api.example/v1", Auth: provider.Bearer,
		Surfaces: map[events.Dialect]provider.Surface{events.DialectAnthropic: {BaseURL: "https://api.example/anthropic", Auth: provider.XAPIKey}}}
	u, err := newUpstream(&Account{ID: "a", Provider: p}, all)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		d         events.Dialect
		url, auth string
	}{
		"openai.chat":        {events.DialectOpenAI, "https://api.example/v1/chat/completions", "Authorization"},
		"anthropic.messages": {events.DialectAnthropic, "https://api.example/anthropic/v1/messages", "X-Api-Key"},
	} {
		at := u.speaking(want.d)
		got, err := at.target(routes[name], "m", &dialect.Head{})
		if err != nil || got.String() != want.url || at.auth != want.auth {
			t.Errorf("%s goes to %s with %s, %v; want %s with %s", name, got, at.auth, err, want.url, want.auth)
		}
	}
	own, err := newUpstream(&Account{ID: "a", Provider: p, BaseURL: "http://127.0.0.1:9/v1"}, all)
	if err != nil || own.speaking(events.DialectAnthropic) != own {
		t.Errorf("an account with a base URL of its own speaks everything there: %v", err)
	}
}

func TestABetaThatTheCredentialNeedsJoinsTheClients(t *testing.T) {
	p := &provider.Provider{ID: "p", BaseURL: "https://api.example", Headers: http.Header{"Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"oauth-1"}}}
	u, err := newUpstream(&Account{ID: "a", Provider: p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := outbound(http.Header{"Anthropic-Beta": {"context-1m"}}, u, events.DialectAnthropic, "tok")
	if got := h.Get("Anthropic-Beta"); got != "context-1m,oauth-1" {
		t.Errorf("beta flags %q", got)
	}
}
