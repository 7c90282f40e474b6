package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/gateway/alert"
	"github.com/waybill/waybill/ledger/feed"
	server "github.com/waybill/waybill/test/postgres"
)

// hook is a webhook that remembers alerts whose signature is right.
type hook struct {
	t      *testing.T
	url    string
	alerts chan alert.Alert
}

func newHook(t *testing.T) *hook {
	h := &hook{t: t, alerts: make(chan alert.Alert, 64)}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var a alert.Alert
		if err := json.Unmarshal(body, &a); err != nil || r.Header.Get(feed.HeaderSignature) != feed.Sign("hush", r.Header.Get(feed.HeaderTimestamp), body) ||
			r.Header.Get(feed.HeaderType) != letterType+string(a.Kind) || r.Header.Get(feed.HeaderID) != a.ID.String() {
			t.Errorf("delivered %v %s", r.Header, body)
		}
		h.alerts <- a
	}))
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

// config is a gateway's with the webhook as its one feed.
func (h *hook) config(upstream string) string {
	return "accounts:\n  - {id: a, provider: openai-compatible, base_url: '" + upstream + "', api_key: ka}\n" +
		"feeds:\n  - {name: pager, url: '" + h.url + "', secret: hush}\n"
}

// expect is the next alert, which must be of a kind.
func (h *hook) expect(kind alert.Kind, words ...string) alert.Alert {
	h.t.Helper()
	select {
	case a := <-h.alerts:
		if a.Kind != kind {
			h.t.Fatalf("told %+v, not %s", a, kind)
		}
		for _, w := range words {
			if !strings.Contains(a.Sentence, w) {
				h.t.Errorf("%q does not say %q", a.Sentence, w)
			}
		}
		return a
	case <-time.After(30 * time.Second):
		h.t.Fatalf("no alert of %s", kind)
	}
	panic("unreachable")
}

func (h *hook) silent() {
	h.t.Helper()
	select {
	case a := <-h.alerts:
		h.t.Errorf("told %+v", a)
	default:
	}
}

func TestAWebhookIsToldWhenAnAccountIsParkedOnceAlsoOverARestart(t *testing.T) {
	h := newHook(t)
	i := install(t, h.config(upstream(t)))
	spent := func() {
		if a := call(t, "POST", i.admin+"/api/v1/accounts/a/readings", `{"source":"scraper","windows":[{"name":"weekly","reached":true,"resets_at":"`+
			time.Now().Add(48*time.Hour).UTC().Format(time.RFC3339)+`"}]}`); a.status != 202 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	spent()
	a := h.expect(alert.Parked, "a is set aside", "window weekly is spent")
	if a.Account != "a" || a.Axis != "window" || len(a.Evidence) != 1 {
		t.Errorf("%+v", a)
	}
	for _, link := range a.Links {
		if got := call(t, "GET", i.admin+link, ""); got.status != 200 {
			t.Errorf("%s: %d %s", link, got.status, got.body)
		}
	}
	spent()
	if code := i.stop(); code != 0 {
		t.Fatal(code)
	}
	again := startServe(t, i.dir, []string{"serve", "--config", i.file}, i.env...)
	i.admin = again.admin
	spent()
	if a := call(t, "POST", i.admin+"/api/v1/accounts/a/drain", `{"reason":"rotation"}`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	h.expect(alert.Parked, "drained it", "rotation")
	again.stop()
	h.silent()
}

func TestAWebhookIsToldThatTheLedgerIsAwayAndThatItIsBroken(t *testing.T) {
	db, err := server.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Stop)
	h := newHook(t)
	file := t.TempDir() + "/waybill.yaml"
	write(t, file, h.config(upstream(t)))
	g := startServe(t, t.TempDir(), []string{"serve", "--config", file}, "WAYBILL_LEDGER="+db.URL)
	if a := g.chat("m1"); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if err := db.Halt(); err != nil {
		t.Fatal(err)
	}
	go g.chat("m1")
	h.expect(alert.Spooling, "takes no events since")
	if err := db.Restart(); err != nil {
		t.Fatal(err)
	}
	g.log.await(t, "the ledger takes events again", 1)

	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "UPDATE waybill.head SET position = 1"); err != nil {
		t.Fatal(err)
	}
	h.expect(alert.Broken, "not what it was", "stops")
	if code := <-g.ended; code != exitLedger {
		t.Errorf("it ended with %d", code)
	}
	g.cancel = nil
}
