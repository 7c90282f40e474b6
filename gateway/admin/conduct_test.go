package admin_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/test/played"
)

func TestMethodsAreAnsweredAsHTTPHasIt(t *testing.T) {
	a := openRich(t)
	for path, takes := range map[string]string{
		"/api/v1/accounts":            "GET, HEAD, OPTIONS",
		"/api/v1/accounts/a":          "GET, HEAD, OPTIONS",
		"/api/v1/accounts/a/readings": "POST, OPTIONS",
		"/api/v1/events/stream":       "GET, HEAD, OPTIONS",
		"/api/v1/ledger/verify":       "POST, OPTIONS",
		"/healthz":                    "GET, HEAD, OPTIONS",
		"/metrics":                    "GET, HEAD, OPTIONS",
	} {
		status, body, res := a.call(http.MethodOptions, path, "")
		if status != http.StatusNoContent || res.Header.Get("Allow") != takes || body != "" {
			t.Errorf("OPTIONS %s: %d, allows %q, want %q", path, status, res.Header.Get("Allow"), takes)
		}
		status, body, res = a.call(http.MethodDelete, path, "")
		if status != http.StatusMethodNotAllowed || res.Header.Get("Allow") != takes || !strings.Contains(body, takes) {
			t.Errorf("DELETE %s: %d, allows %q: %s", path, status, res.Header.Get("Allow"), body)
		}
		if !strings.HasPrefix(takes, "GET") {
			continue
		}
		status, body, res = a.call(http.MethodHead, path, "")
		if status != http.StatusOK || body != "" || res.Header.Get("Content-Type") == "" {
			t.Errorf("HEAD %s: %d %q %v", path, status, body, res.Header)
		}
	}
	if status, body, _ := a.call(http.MethodOptions, "/api/v1/nothing", ""); status != http.StatusNotFound || !strings.Contains(body, "openapi.json") {
		t.Errorf("OPTIONS of nothing: %d %s", status, body)
	}
	if status, _, _ := a.call(http.MethodPut, "/api/v1/accounts", "reason=x", "Content-Type", "application/x-www-form-urlencoded"); status != http.StatusMethodNotAllowed {
		t.Errorf("a form to a path that takes none: %d", status)
	}
	guarded := open(t, "secret")
	for _, method := range []string{http.MethodOptions, http.MethodDelete, http.MethodHead} {
		if status, _, _ := guarded.call(method, "/api/v1/accounts", ""); status != http.StatusUnauthorized {
			t.Errorf("%s without the token: %d", method, status)
		}
	}
}

// A filter that is not understood filters nothing: it is refused, with what to
// write instead.
func TestAQueryThatIsNotUnderstoodIsRefused(t *testing.T) {
	a := open(t, "")
	for query, says := range map[string]string{
		"account=%zz":               "cannot be read",
		"account=a;outcome=refused": "cannot be read",
		"account=%":                 "%25",
		"account=a&account=b":       "account",
		"outcom=refused":            "not known",
		"outcome=gone":              "served, failed, refused, aborted or open",
		"since=now":                 "RFC 3339",
		"order=up":                  "asc or desc",
		"limit=0":                   "1 to 1000",
		"limit=1001":                "1 to 1000",
		"limit=x":                   "whole number",
		"after=-1":                  "whole number",
		"since=2026-11-30T14:00:00Z&until=2026-11-30T14:00:00Z": "nothing lies between",
	} {
		status, body, res := a.call(http.MethodGet, "/api/v1/requests?"+query, "")
		if status != http.StatusBadRequest || res.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s, want a word of %q", query, status, body, says)
		}
	}
}

func TestAListOfNoTypesIsNoFilter(t *testing.T) {
	a := open(t, "")
	if status, body, _ := a.call(http.MethodGet, "/api/v1/events?type=,", ""); status != http.StatusBadRequest || !strings.Contains(body, "attempt.routed") {
		t.Errorf("%d %s", status, body)
	}
}

func TestPagesEndWhereTheListDoes(t *testing.T) {
	a := openRich(t)
	for _, path := range []string{"/accounts", "/requests", "/requests?order=asc", "/events", "/usage", "/feeds", "/feeds/hook/poisoned"} {
		with := func(q string) string {
			if strings.Contains(path, "?") {
				return path + "&" + q
			}
			return path + "?" + q
		}
		all := rows(t, a.get(with("limit=1000")))
		n := 0
		for page := with("limit=1"); ; n++ {
			got := a.get(page)
			if len(rows(t, got)) != 1 {
				t.Fatalf("%s: page %d has %d rows", path, n, len(rows(t, got)))
			}
			if got["next"] == nil {
				break
			}
			page = with("limit=1&after=" + jsonNumber(got["next"]))
		}
		if n+1 != len(all) {
			t.Errorf("%s: %d pages of one, %d rows", path, n+1, len(all))
		}
		exact := a.get(with("limit=" + jsonNumber(len(all))))
		if exact["next"] != nil || len(rows(t, exact)) != len(all) {
			t.Errorf("%s: a page that holds all has a next: %v", path, exact["next"])
		}
		if strings.HasPrefix(path, "/requests") && !strings.Contains(path, "asc") {
			continue // newest first: what comes after a far position is everything
		}
		if beyond := a.get(with("after=999999")); len(rows(t, beyond)) != 0 || beyond["next"] != nil {
			t.Errorf("%s: beyond the end: %v", path, beyond)
		}
	}
}

func TestTwoCredentialsAreNone(t *testing.T) {
	a := open(t, "secret")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+"/api/v1/accounts", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]string{{"Bearer secret", "Bearer other"}, {"Bearer other", "Bearer secret"}, {"Bearer secret", "Bearer secret"}} {
		req.Header["Authorization"] = order
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%v: %d", order, res.StatusCode)
		}
	}
}

func TestABodyWithAMemberThatIsNotKnownIsRefused(t *testing.T) {
	a := open(t, "")
	for path, body := range map[string]string{
		"/accounts/c/drain":    `{"reason":"x","scop":"model:m1"}`,
		"/accounts/c/release":  `{"reason":"x"} {"reason":"y"}`,
		"/accounts/c/park":     `["x"]`,
		"/replay?x=1":          `{"policy":{"park_cap":"5m"}}`,
		"/replay":              `{"policy":{"park_cap":"5m"},"sincee":"2026-11-30T00:00:00Z"}`,
		"/accounts/c/readings": `{"windos":[]}`,
	} {
		status, text, _ := a.call(http.MethodPost, "/api/v1"+path, body)
		if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity || !strings.Contains(text, "detail") {
			t.Errorf("%s %s: %d %s", path, body, status, text)
		}
	}
	if all := rows(t, a.get("/events?account=c&type=operator.drained,operator.released,operator.parked")); len(all) != 0 {
		t.Errorf("they did something: %v", all)
	}
}

func TestAStreamGoesOnWhereItWasCut(t *testing.T) {
	a := open(t, "")
	ctx, cut := context.WithCancel(t.Context())
	first := next(t, a.frames(ctx, "?after=3"))
	cut()
	a.Spent("c", played.Begin.Add(time.Hour))
	again := a.frames(t.Context(), "?type=quota.fetched", "Last-Event-ID", first["id"])
	for _, account := range []string{"a", "c"} {
		if e := decode(t, next(t, again)["data"]); e["account"] != account {
			t.Fatalf("resumed behind %s: %v, want %s", first["id"], e, account)
		}
	}
	// An EventSource that was given ?after= keeps it when it comes back.
	both := a.frames(t.Context(), "?after=3", "Last-Event-ID", first["id"])
	if f := next(t, both); f["id"] != "5" {
		t.Fatalf("with after and an id: %v, want what follows %s", f, first["id"])
	}
	if status, body, _ := a.call(http.MethodGet, "/api/v1/events/stream?after=999999", ""); status != http.StatusBadRequest || !strings.Contains(body, "the ledger ends at") {
		t.Errorf("beyond the end: %d %s", status, body)
	}
	for _, id := range []string{"x", "-1", "999999"} {
		if status, body, _ := a.call(http.MethodGet, "/api/v1/events/stream", "", "Last-Event-ID", id); status != http.StatusBadRequest || !strings.Contains(body, "Last-Event-ID") {
			t.Errorf("Last-Event-ID %s: %d %s", id, status, body)
		}
	}
}
