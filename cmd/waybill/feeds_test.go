package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
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

// TestWhatAFeedDoesNotTakeIsListedAndRequeued puts messages aside as a relay
// does, and requeues one by the shell and one by the API.
func TestWhatAFeedDoesNotTakeIsListedAndRequeued(t *testing.T) {
	got := make(chan string, 16)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get(feed.HeaderID) }))
	t.Cleanup(hook.Close)
	i := install(t, "accounts:\n  - {id: a, provider: openai-compatible, base_url: '"+upstream(t)+"', api_key: ka}\n"+
		"feeds:\n  - {name: hook, url: '"+hook.URL+"', events: [pin.set]}\n")
	book := feed.Files(filepath.Join(i.dir, "var", "feeds")).Book("hook")
	var ids []string
	for n := range 3 {
		m := ledger.Message{ID: uuid.Must(uuid.NewV7()), Position: events.Position(n + 1), Error: "answered with 500", Meta: map[string]string{feed.MetaType: "pin.set"}, Body: []byte("{}")}
		if err := book.PutAside(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID.String())
	}
	expect := func(what string, ok bool, out string) {
		t.Helper()
		if !ok {
			t.Errorf("%s:\n%s", what, out)
		}
	}
	_, out, _ := i.shell("feeds")
	expect("the list", strings.Contains(out, "hook") && strings.Contains(out, "3"), out)
	_, out, _ = i.shell("feeds", "poisoned", "hook", "--json")
	expect("the messages", strings.Contains(out, ids[0]) && strings.Contains(out, "answered with 500"), out)
	if code, out, errs := i.shell("feeds", "requeue", "hook", ids[1]); code != 0 {
		t.Fatal(out, errs)
	}
	delivered := func(id string) {
		t.Helper()
		select {
		case d := <-got:
			expect("delivered "+d, d == id, id)
		case <-time.After(20 * time.Second):
			t.Fatal("nothing was delivered")
		}
	}
	delivered(ids[1])
	a := call(t, "POST", i.admin+"/api/v1/feeds/hook/requeue", `{"ids":["`+ids[2]+`"]}`)
	expect("requeue by the API", a.status == 202 && strings.Contains(a.body, `"requeued":1`), a.body)
	delivered(ids[2])
	a = call(t, "GET", i.admin+"/api/v1/feeds/hook/poisoned", "")
	expect("what is left", a.status == 200 && strings.Contains(a.body, ids[0]), a.body)
	a = call(t, "GET", i.admin+"/api/v1/feeds", "")
	expect("the feeds", strings.Contains(a.body, `"name":"hook"`) && strings.Contains(a.body, `"poisoned":`), a.body)
	code, out, errs := i.shell("feeds", "requeue", "hook", "x")
	expect("a message's id that is none", code == exitUsage, out+errs)
	for _, args := range [][]string{{"feeds", "requeue", "hook", ids[1]}, {"feeds", "poisoned", "nobody"}, {"feeds", "requeue", "nobody"}} {
		code, out, errs := i.shell(args...)
		expect(strings.Join(args, " "), code == exitCheckFailed, out+errs)
	}
	if a := call(t, "POST", i.admin+"/api/v1/feeds/nobody/requeue", ""); a.status != 404 {
		t.Errorf("an unknown feed: %d %s", a.status, a.body)
	}
}
