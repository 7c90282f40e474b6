package console

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/recorded"
	"github.com/waybill/waybill/test/upstream"
)

const token = "console-test-token"

// world is a running gateway on a ledger that begins with the recorded day, and
// the browser.
type world struct {
	browser context.Context
	gate    *binary.Gateway
	up      *upstream.Server
}

func start(t *testing.T, browser context.Context, fill func(path string)) *world {
	t.Helper()
	w := &world{browser: browser, up: upstream.New(t)}
	w.up.Script("*", upstream.Good)
	w.gate = binary.New(t, recorded.Config(w.up.URL()), "WAYBILL_ADMIN_TOKEN="+token)
	fill(w.gate.Ledger())
	w.gate.Up()
	return w
}

// ask calls the admin API, as whoever has the token.
func (w *world) ask(t *testing.T, method, path string, body, into any) {
	t.Helper()
	var send bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&send).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, w.gate.Admin+"/api/v1"+path, &send)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %v\n%s", method, path, resp.Status, err, text)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s %s: %v\n%s", method, path, err, text)
		}
	}
}

// chat makes one request as a client and returns its id.
func (w *world) chat(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.gate.URL+"/v1/chat/completions", strings.NewReader(`{"model":"coder","messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer app-key")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.Header.Get("Waybill-Request-Id")
}

// request is the id of the one that began at an instant of the day.
func (w *world) request(t *testing.T, began string) string {
	t.Helper()
	var page struct {
		Data []struct{ Request, Started string }
	}
	w.ask(t, "GET", "/requests?since="+began+"&limit=1000", nil, &page)
	for _, r := range page.Data {
		if strings.HasPrefix(r.Started, strings.TrimSuffix(began, "Z")) {
			return r.Request
		}
	}
	t.Fatalf("no request began at %s", began)
	return ""
}
