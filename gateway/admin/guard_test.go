package admin_test

import (
	"net/http"
	"strings"
	"testing"
)

// calls is every route that asks for the token, with ids filled in.
func (a *api) calls() [][2]string {
	out := [][2]string{{"GET", "/"}}
	for path, ops := range a.openapi() {
		for method, op := range ops.(map[string]any) {
			if op.(map[string]any)["security"] != nil {
				continue // open to everybody
			}
			p := strings.Replace(path, "/accounts/{id}", "/accounts/a", 1)
			out = append(out, [2]string{strings.ToUpper(method), strings.Replace(p, "/requests/{id}", "/requests/"+a.story.Served.String(), 1)})
		}
	}
	return out
}

func (a *api) openapi() map[string]any {
	_, body, _ := a.call(http.MethodGet, "/api/v1/openapi.json", "", "Authorization", "Bearer secret")
	return decode(a.t, body)["paths"].(map[string]any)
}

func Test_B146_admin_endpoints_refuse_strangers(t *testing.T) {
	a := open(t, "secret")
	before := a.get2(t, "/api/v1/ledger")["position"]
	calls := a.calls()
	if len(calls) < 16 {
		t.Fatalf("only %d routes are tried", len(calls))
	}
	refused := map[string]struct {
		header []string
		want   int
	}{
		"no key":                     {nil, http.StatusUnauthorized},
		"an empty key":               {[]string{"Authorization", "Bearer "}, http.StatusUnauthorized},
		"a client key":               {[]string{"Authorization", "Bearer ck-test"}, http.StatusUnauthorized},
		"a client key as x-api-key":  {[]string{"x-api-key", "secret"}, http.StatusUnauthorized},
		"the token as basic":         {[]string{"Authorization", "Basic secret"}, http.StatusUnauthorized},
		"another origin with token":  {[]string{"Authorization", "Bearer secret", "Origin", "http://evil.test"}, http.StatusForbidden},
		"a null origin with token":   {[]string{"Authorization", "Bearer secret", "Origin", "null"}, http.StatusForbidden},
		"another site with token":    {[]string{"Authorization", "Bearer secret", "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"a rebound name without key": {[]string{"Host", "evil.test"}, http.StatusUnauthorized},
	}
	for name, r := range refused {
		t.Run(name, func(t *testing.T) {
			for _, c := range calls {
				body := ""
				if c[0] == "POST" {
					body = `{"reason":"x"}`
				}
				status, got, res := a.call(c[0], c[1], body, r.header...)
				if status != r.want {
					t.Errorf("%s %s: %d, want %d", c[0], c[1], status, r.want)
				}
				for h := range res.Header {
					if strings.HasPrefix(h, "Access-Control-") {
						t.Errorf("%s %s: %s", c[0], c[1], h)
					}
				}
				if strings.Contains(got, "secret") {
					t.Errorf("%s %s shows the token: %s", c[0], c[1], got)
				}
			}
		})
	}
	t.Run("a form post with token", func(t *testing.T) {
		for _, kind := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"} {
			for _, c := range calls {
				if c[0] != "POST" {
					continue
				}
				if status, _, _ := a.call(c[0], c[1], "reason=x", "Content-Type", kind, "Authorization", "Bearer secret"); status != http.StatusUnsupportedMediaType {
					t.Errorf("%s as %s: %d", c[1], kind, status)
				}
			}
		}
	})
	t.Run("a preflight", func(t *testing.T) {
		status, _, res := a.call(http.MethodOptions, "/api/v1/accounts", "", "Origin", "http://evil.test", "Access-Control-Request-Method", "POST")
		if status != http.StatusForbidden || res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%d %v", status, res.Header)
		}
	})
	if after := a.get2(t, "/api/v1/ledger")["position"]; after != before {
		t.Fatalf("a refused call was recorded: %v became %v", before, after)
	}
}

func (a *api) get2(t *testing.T, path string) map[string]any {
	t.Helper()
	status, body, _ := a.call(http.MethodGet, path, "", "Authorization", "Bearer secret")
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	return decode(t, body)
}

func Test_B146_without_a_token_only_loopback_names_may_ask(t *testing.T) {
	a := open(t, "")
	for host, want := range map[string]int{"localhost:8788": 200, "127.0.0.1": 200, "[::1]:8788": 200, "LOCALHOST": 200,
		"evil.test": 403, "evil.test:8788": 403, "127.0.0.1.evil.test": 403, "localhost.evil.test": 403, "8.8.8.8": 403} {
		if status, body, _ := a.call(http.MethodGet, "/api/v1/accounts", "", "Host", host); status != want {
			t.Errorf("Host %s: %d %s", host, status, body)
		}
	}
	if status, _, _ := a.call(http.MethodGet, "/api/v1/accounts", "", "Origin", a.url); status != http.StatusOK {
		t.Errorf("the page's own origin: %d", status)
	}
}

func TestHealthNeedsNoTokenAndNamesNothing(t *testing.T) {
	a := open(t, "secret")
	for _, path := range []string{"/healthz", "/readyz"} {
		status, body, _ := a.call(http.MethodGet, path, "")
		if status != http.StatusOK || strings.Contains(body, `"a"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestAnUnknownPathAndAWrongMethodAreProblems(t *testing.T) {
	a := open(t, "")
	for _, c := range []struct {
		method, path string
		want         int
	}{{"GET", "/api/v1/nothing", 404}, {"DELETE", "/api/v1/accounts", 405}, {"GET", "/api/v1/accounts/nobody", 404}} {
		status, body, res := a.call(c.method, c.path, "")
		if status != c.want || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
			continue
		}
		has(t, c.path, decode(t, body), "type title status detail instance")
	}
}

func TestAParkSaysHowItsEndIsWritten(t *testing.T) {
	a := openRich(t)
	status, body, _ := a.call(http.MethodPost, "/api/v1/accounts/a/park", `{"reason": "x", "until": "2h"}`)
	if status != http.StatusBadRequest || !strings.Contains(body, `\"for\": \"2h\"`) {
		t.Errorf("%d %s", status, body)
	}
}
