package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
)

// hostile is what a client may call a model and an upstream may answer.
const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)> event 7 <img src=y> {{.}} </textarea>`

// Markup that comes from clients and upstreams is shown, never obeyed.
func TestHostileTextStaysText(t *testing.T) {
	b := open(t, "")
	id := b.NewID()
	ask := engine.Ask{Request: id, Client: hostile, Dialect: events.DialectOpenAI, Model: hostile, Session: events.SessionDigest(hostile, hostile), Attempt: 1}
	if _, _, err := b.Decide(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	w := events.Window{Name: hostile, UsedPercent: events.Dec(50), Reported: true, Scope: events.Scope{Kind: events.ScopeModel, Name: hostile}}
	b.Do(events.Header{Account: "a"}, &events.QuotaFetched{Reading: events.Reading{Source: hostile, Windows: []events.Window{w}}})
	b.Do(events.Header{Account: "a"}, &events.QuotaFetchFailed{Source: hostile, Status: 500, Error: hostile})
	b.Do(events.Header{Account: "a"}, &events.OperatorParked{OperatorAction: events.OperatorAction{Actor: hostile, Reason: hostile, Until: b.Now() + 1e9}})
	paths := []string{"/", "/accounts/a", "/accounts/a/timeline", "/requests", "/requests/" + id.String(), "/events", "/usage?by=model", "/usage?by=client", "/ledger"}
	for at := b.head(); at > b.head()-6; at-- {
		paths = append(paths, "/events/"+itoa(at))
	}
	shown := 0
	for _, path := range paths {
		body := b.see(path)
		for _, bad := range []string{"<script>", "<img", `"'>`, "onerror=alert(2)>"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s holds %q", path, bad)
			}
		}
		if strings.Contains(body, "&lt;script&gt;alert(1)") || strings.Contains(body, `\u003cscript`) {
			shown++
		}
	}
	if shown < 8 {
		t.Errorf("only %d of %d pages show the text at all: the test tells nothing", shown, len(paths))
	}
	for _, path := range []string{"/?name=%zz", "/requests?account=%", "/usage?by=model;x", "/events?account=%zz"} {
		if a := b.do(http.MethodGet, path, nil); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, "cannot be read") {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
	}
	for _, q := range []string{"/?name=", "/requests?model=", "/requests?since=", "/events?account=", "/events?type=", "/usage?by=", "/?at=", "/nowhere?x="} {
		a := b.do(http.MethodGet, q+queryEscape(hostile), nil)
		if strings.Contains(a.body, "<script>") || strings.Contains(a.body, "<img") {
			t.Errorf("%s gives it back: %s", q, a.body)
		}
	}
}
