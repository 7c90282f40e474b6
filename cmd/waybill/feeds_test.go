package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/ledger/feed"
)

func TestAFeedOfTheFileIsDelivered(t *testing.T) {
	got := make(chan *http.Request, 16)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r }))
	t.Cleanup(hook.Close)
	i := install(t, "accounts:\n  - {id: a, provider: openai-compatible, base_url: '"+upstream(t)+"', api_key: ka}\n"+
		"feeds:\n  - {name: hook, url: '"+hook.URL+"/in', secret: hush, events: [attempt.succeeded]}\n")
	if a := i.chat("m1"); a.status != 200 {
		t.Fatalf("chat: %d %s", a.status, a.body)
	}
	select {
	case r := <-got:
		if r.URL.Path != "/in" || r.Header.Get(feed.HeaderType) != "attempt.succeeded" || !strings.HasPrefix(r.Header.Get(feed.HeaderSignature), "sha256=") {
			t.Errorf("delivered %s %v", r.URL, r.Header)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was delivered")
	}
	if m := call(t, "GET", i.admin+"/metrics", ""); !strings.Contains(m.body, `waybill_feed_lag_events{consumer="hook"} `) {
		t.Errorf("no lag in\n%s", m.body)
	}
	if code := i.stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	if _, err := os.Stat(filepath.Join(i.dir, "var", "feeds", "hook.position")); err != nil {
		t.Error(err)
	}
}
