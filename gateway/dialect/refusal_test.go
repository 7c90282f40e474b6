package dialect

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/waybill/waybill/events"
)

var dialects = []events.Dialect{events.DialectOpenAI, events.DialectAnthropic, events.DialectGemini}

func write(r Refusal) (*http.Response, map[string]any, string) {
	w := httptest.NewRecorder()
	r.Write(w)
	var v map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &v)
	return w.Result(), v, w.Body.String()
}

func TestARefusalHasTheShapeOfItsDialect(t *testing.T) {
	r := Refusal{Status: 429, Code: "accounts_exhausted", Message: "All 2 accounts have exhausted their quota \"x\"\n", RetryAfter: 30, Request: "req-1"}
	text := "All 2 accounts have exhausted their quota \"x\"\nrequest req-1: waybill why req-1"
	for _, d := range dialects {
		r.Dialect = d
		res, v, raw := write(r)
		h := res.Header
		if res.StatusCode != 429 || h.Get("Waybill-Refusal") != "accounts_exhausted" || h.Get("Waybill-Request-Id") != "req-1" || h.Get("Content-Type") != "application/json" ||
			h.Get("Retry-After") != "30" || h.Get("X-Should-Retry") != "" {
			t.Errorf("%s: %d %v", d, res.StatusCode, h)
		}
		e, _ := v["error"].(map[string]any)
		if e["message"] != text {
			t.Errorf("%s: %s", d, raw)
		}
		switch d {
		case events.DialectOpenAI:
			if e["type"] != "rate_limit_error" || e["code"] != "accounts_exhausted" || e["param"] != nil || len(e) != 4 || h.Get("X-Request-Id") != "req-1" {
				t.Errorf("%s %v", raw, h)
			}
		case events.DialectAnthropic:
			if v["type"] != "error" || e["type"] != "rate_limit_error" || v["request_id"] != "req-1" || h.Get("Request-Id") != "req-1" {
				t.Errorf("%s %v", raw, h)
			}
		case events.DialectGemini:
			details := e["details"].([]any)
			retry := details[1].(map[string]any)
			if e["code"] != 429.0 || e["status"] != "RESOURCE_EXHAUSTED" || retry["retryDelay"] != "30s" || retry["@type"] != "type.googleapis.com/google.rpc.RetryInfo" {
				t.Errorf("%s", raw)
			}
		}
	}
}

func TestALongWaitSaysThatNobodyShouldRetry(t *testing.T) {
	for after, want := range map[int64]string{0: "", 1: "", 60: "", 61: "false", 90_000: "false"} {
		res, _, _ := write(Refusal{Status: 429, RetryAfter: after})
		if got := res.Header.Get("X-Should-Retry"); got != want {
			t.Errorf("Retry-After %d: X-Should-Retry %q", after, got)
		}
		if _, there := res.Header["Retry-After"]; there != (after > 0) {
			t.Errorf("Retry-After %d: %v", after, res.Header)
		}
	}
	if res, _, _ := write(Refusal{Status: 404, NoRetry: true}); res.Header.Get("X-Should-Retry") != "false" {
		t.Error("NoRetry is not said")
	}
}

// TestACodexClientIsToldItsResetInItsOwnWords: it ends its turn and shows the
// instant; the short waits and the other statuses it is given like anybody.
func TestACodexClientIsToldItsResetInItsOwnWords(t *testing.T) {
	r := Refusal{Dialect: events.DialectOpenAI, Status: 429, Code: "accounts_exhausted", RetryAfter: 3600, ResetsAt: 1795003600}
	_, v, raw := write(r)
	if e := v["error"].(map[string]any); e["type"] != "usage_limit_reached" || e["resets_at"] != 1795003600.0 || e["resets_in_seconds"] != 3600.0 || e["code"] != "accounts_exhausted" {
		t.Error(raw)
	}
	for name, r := range map[string]Refusal{
		"an ordinary client": {Dialect: events.DialectOpenAI, Status: 429, RetryAfter: 3600},
		"a short wait":       {Dialect: events.DialectOpenAI, Status: 429, RetryAfter: 60, ResetsAt: 1},
		"another status":     {Dialect: events.DialectOpenAI, Status: 503, RetryAfter: 3600, ResetsAt: 1},
	} {
		_, v, raw := write(r)
		if e := v["error"].(map[string]any); e["type"] == "usage_limit_reached" || e["resets_at"] != nil || len(e) != 4 {
			t.Errorf("%s: %s", name, raw)
		}
	}
}

func TestEveryStatusHasAWordInEveryDialect(t *testing.T) {
	for status, want := range map[int][3]string{
		400: {"invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"}, 401: {"authentication_error", "authentication_error", "UNAUTHENTICATED"},
		402: {"invalid_request_error", "billing_error", "INVALID_ARGUMENT"}, 403: {"permission_error", "permission_error", "PERMISSION_DENIED"},
		404: {"invalid_request_error", "not_found_error", "NOT_FOUND"}, 413: {"invalid_request_error", "request_too_large", "INVALID_ARGUMENT"},
		415: {"invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"}, 429: {"rate_limit_error", "rate_limit_error", "RESOURCE_EXHAUSTED"},
		500: {"server_error", "api_error", "INTERNAL"}, 502: {"server_error", "api_error", "UNAVAILABLE"}, 503: {"server_error", "overloaded_error", "UNAVAILABLE"},
		504: {"server_error", "timeout_error", "DEADLINE_EXCEEDED"}, 529: {"server_error", "overloaded_error", "UNAVAILABLE"},
	} {
		if got := [3]string{openAIType(status), anthropicType(status), geminiStatus(status)}; got != want {
			t.Errorf("%d: %v", status, got)
		}
	}
}

func TestAnyMessageIsValidJSON(t *testing.T) {
	for _, m := range []string{"\x00\x1f\"\\\n\t\r", "\xff\xfe", "é漢😀", "</script>", ""} {
		for _, d := range dialects {
			r := Refusal{Dialect: d, Status: 500, Code: "x", Message: m, Param: m, Request: m}
			if b := r.Body(); !json.Valid(b) {
				t.Errorf("%s: %q", d, b)
			}
		}
	}
}

func TestModelListsHaveTheirDialectsShape(t *testing.T) {
	names := []string{"m1", "stealth/ox", `q"`}
	for _, d := range dialects {
		for n := range len(names) + 1 {
			var v struct {
				Object  string
				Data    []struct{ ID, Object, Type string }
				Models  []struct{ Name string }
				HasMore *bool   `json:"has_more"`
				LastID  *string `json:"last_id"`
			}
			b := ModelList(d, names[:n])
			if err := json.Unmarshal(b, &v); err != nil {
				t.Fatalf("%s: %v in %s", d, err, b)
			}
			if len(v.Data)+len(v.Models) != n {
				t.Errorf("%s: %s", d, b)
			}
			switch {
			case d == events.DialectOpenAI && v.Object != "list",
				d == events.DialectAnthropic && (v.HasMore == nil || *v.HasMore || n > 0 && *v.LastID != names[n-1]),
				d == events.DialectGemini && n > 0 && v.Models[0].Name != "models/m1":
				t.Errorf("%s: %s", d, b)
			}
		}
	}
}

func TestOperationsAreUniqueAndComplete(t *testing.T) {
	names, routes := map[string]bool{}, map[string]bool{}
	for _, o := range Operations() {
		name, route := o.Dialect.String()+"."+o.Name, o.Method+" "+o.Path
		if names[name] || routes[route] {
			t.Errorf("%s or %s stands twice", name, route)
		}
		names[name], routes[route] = true, true
		if o.Local == (o.upstream != "") {
			t.Errorf("%s: asked upstream %q, local %v", name, o.upstream, o.Local)
		}
		if o.Inspect(o.Answer, "") == nil {
			t.Errorf("%s has no inspector", name)
		}
	}
}
