package bugs

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/waybill/waybill/gateway"
	"github.com/waybill/waybill/gateway/dialect"
)

func withClient(p *plan) {
	p.clients = []gateway.Client{{ID: "app", Key: key("ck-test")}, {ID: "other", Key: key("ck-other")}}
}

// B083: the precedence is the dialect's own header, the other dialect's,
// Authorization, ?key=; the same on every surface.
func Test_B083_which_credential_wins_when_a_client_sends_two(t *testing.T) {
	w := start(t, withClient)
	w.good("a")
	rows := []struct {
		name    string
		headers [][2]string
		query   string
		status  int
	}{
		{"bearer good, x-api-key bad: the key header counts", [][2]string{{"Authorization", "Bearer ck-test"}, {"X-Api-Key", "stale"}}, "", 401},
		{"bearer bad, x-api-key good", [][2]string{{"Authorization", "Bearer stale"}, {"X-Api-Key", "ck-test"}}, "", 200},
		{"bearer good alone", [][2]string{{"Authorization", "Bearer ck-test"}}, "", 200},
		{"x-api-key good alone", [][2]string{{"X-Api-Key", "ck-test"}}, "", 200},
		{"x-goog-api-key good alone", [][2]string{{"X-Goog-Api-Key", "ck-test"}}, "", 200},
		{"scheme in lower case", [][2]string{{"Authorization", "bearer ck-test"}}, "", 200},
		{"two spaces after the scheme", [][2]string{{"Authorization", "Bearer  ck-test"}}, "", 200},
		{"two Authorization headers are nobody's", [][2]string{{"Authorization", "Bearer ck-test"}, {"Authorization", "Bearer ck-other"}}, "", 401},
		{"query key good alone", nil, "key=ck-test", 200},
		{"bearer bad is not rescued by the query", [][2]string{{"Authorization", "Bearer stale"}}, "key=ck-test", 401},
		{"another scheme is not rescued by the query", [][2]string{{"Authorization", "Basic Y2stdGVzdA=="}}, "key=ck-test", 401},
		{"an empty key header is no key", [][2]string{{"X-Api-Key", ""}, {"Authorization", "Bearer ck-test"}}, "", 200},
		{"nothing", nil, "", 401},
	}
	for _, row := range rows {
		t.Run(strings.ReplaceAll(row.name, " ", "_"), func(t *testing.T) {
			for surface, c := range allOf {
				for _, h := range row.headers {
					c = c.with(h[0], h[1])
				}
				if row.query != "" {
					c.path += "?" + row.query
				}
				got := w.do(c)
				got.want(t, row.status)
				if row.status == 401 {
					wantErrorShape(t, surface, got.body)
				}
			}
		})
	}
	for _, h := range w.up.Hits("*") {
		if strings.Contains(h.Head, "ck-test") {
			t.Errorf("the client's key reached the upstream: %s", h.Head)
		}
	}
}

// wantErrorShape: the refusal has its surface's shape and tells how to ask why.
func wantErrorShape(t *testing.T, surface, body string) {
	t.Helper()
	want := map[string]string{
		"chat": `{"error":{"message":"`, "resp": `{"error":{"message":"`, "msg": `{"type":"error","error":{"type":"`, "gem": `{"error":{"code":`,
	}[strings.TrimSuffix(surface, "+s")]
	if !strings.HasPrefix(body, want) || !strings.Contains(body, ": waybill why ") {
		t.Errorf("%s: refusal %s, want %s...", surface, body, want)
	}
}

func Test_B137_an_unknown_client_key_is_never_echoed(t *testing.T) {
	w := start(t, withClient)
	w.good("a")
	calls := []call{
		chat.with("Authorization", "Bearer sk-CLIENTSECRET-1"),
		chat.with("X-Api-Key", "sk-CLIENTSECRET-1"),
		chat.with("Authorization", "Basic sk-CLIENTSECRET-1"),
		{method: "POST", path: chat.path + "?key=sk-CLIENTSECRET-1", body: chat.body},
		{method: "POST", path: "/v1beta/models/m1:generateContent?key=sk-CLIENTSECRET-1", body: gem.body},
	}
	for _, c := range calls {
		got := w.do(c)
		got.want(t, 401)
		if s := fmt.Sprint(got.header) + got.body; strings.Contains(s, "CLIENTSECRET") {
			t.Errorf("the key is in the answer: %s", s)
		}
	}
	w.finished(len(calls))
	if strings.Contains(w.logged.String(), "CLIENTSECRET") {
		t.Errorf("the key is in the log: %s", w.logged)
	}
	w.wantHits(map[string]int{"*": 0})
}

// B142: without client keys the gateway is open, which the command allows on
// loopback only; an empty key is refused as a configuration and never matches.
func Test_B142_empty_never_equals_empty(t *testing.T) {
	w := start(t, withClient)
	w.good("a")
	for _, v := range []string{"", "Bearer", "Bearer ", "Bearer  ", "Bearer x"} {
		w.do(chat.with("Authorization", v)).want(t, 401)
	}
	for _, k := range []string{"", " "} {
		w.do(chat.with("X-Api-Key", k)).want(t, 401)
	}
	w.do(call{method: "POST", path: chat.path + "?key=", body: chat.body}).want(t, 401)
	if err := w.gate.Adopt(gateway.Config{Clients: []gateway.Client{{ID: "x", Key: key("")}}}); err == nil {
		t.Error("a configuration with an empty client key was adopted")
	}
	if err := w.gate.Adopt(gateway.Config{Clients: []gateway.Client{{ID: "x"}}}); err == nil {
		t.Error("a configuration without a client key's digest was adopted")
	}
}

// TestB143_every_route_stands_behind_the_check walks the table of operations
// and every odd spelling: without a key all of it is 401, with one the odd
// spellings are 404.
func Test_B143_every_route_stands_behind_the_check(t *testing.T) {
	w := start(t, withClient)
	w.good("a")
	fill := strings.NewReplacer("{model:.+}", "m1", "{id}", "resp_1", "{version:v1beta|v1}", "v1beta")
	for _, op := range dialect.Operations() {
		got := raw(t, w, op.Method, fill.Replace(op.Path), "")
		if got.status != 401 {
			t.Errorf("%s %s without a key: %d, want 401", op.Method, op.Path, got.status)
		}
	}
	odd := []string{
		"/v1/chat/completions/", "//v1/chat/completions", "/V1/chat/completions", "/v1/./chat/completions", "/v1/x/../chat/completions",
		"/openai/v1/chat/completions", "/v1/ch%61t/completions", "/v1/chat%2Fcompletions", "/v1//chat/completions", "/v1beta/chat/completions",
		"/admin", "/api/v1/accounts", "/metrics", "/healthz/../v1/chat/completions", "/api/oauth/organizations/org-x/info", "/",
	}
	for _, path := range odd {
		for _, method := range []string{"POST", "GET", "OPTIONS", "HEAD", "PUT"} {
			if method == "HEAD" && path == "/" {
				continue
			}
			if got := raw(t, w, method, path, ""); got.status != 401 {
				t.Errorf("%s %s without a key: %d, want 401", method, path, got.status)
			}
			got := raw(t, w, method, path, "Authorization: Bearer ck-test\r\n")
			if got.status != 404 && got.status != 405 {
				t.Errorf("%s %s with a key: %d, want 404", method, path, got.status)
			}
		}
	}
	for _, extra := range []string{"X-HTTP-Method-Override: POST\r\n", "Connection: Upgrade\r\nUpgrade: websocket\r\n"} {
		if got := raw(t, w, "GET", "/v1/chat/completions", extra); got.status != 401 {
			t.Errorf("%q without a key: %d, want 401", extra, got.status)
		}
		if got := raw(t, w, "GET", "/v1/chat/completions", extra+"Authorization: Bearer ck-test\r\n"); got.status != 405 {
			t.Errorf("%q with a key: %d, want 405", extra, got.status)
		}
	}
	if got := raw(t, w, "HEAD", "/", ""); got.status != 200 {
		t.Errorf("HEAD /: %d, want 200", got.status)
	}
	w.wantHits(map[string]int{"*": 0})
}

// raw sends a request line as it stands.
func raw(t *testing.T, w *world, method, target, headers string) answer {
	t.Helper()
	body := ""
	if method == "POST" || method == "PUT" {
		body = chat.body
	}
	return rawBytes(t, w, method, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: gw.example\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", method, target, len(body), headers, body))
}

// rawBytes sends a request byte for byte.
func rawBytes(t *testing.T, w *world, method, request string) answer {
	t.Helper()
	c, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	if err == nil && res.StatusCode == http.StatusContinue {
		res, err = http.ReadResponse(r, &http.Request{Method: method})
	}
	if err != nil {
		t.Fatalf("read answer: %v", err)
	}
	return answer{status: res.StatusCode, header: res.Header, body: readAll(t, res), closes: res.Close}
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("read answer: %v", err)
	}
	return string(b)
}

func Test_B145_no_path_or_model_leaves_the_base_path(t *testing.T) {
	w := start(t, func(p *plan) {
		p.models = nil
	})
	w.good("a", "b")
	refused := []string{
		"..%2f..%2fadmin:generateContent", "m1%2F..:generateContent", "m1%3Fx=:generateContent", "m1%23:generateContent",
		"m1:generateContent%3Fkey=z", "..%2Fv1%2Ffiles:generateContent", "m1%00:generateContent", strings.Repeat("m", 4096) + ":generateContent",
		"%2e%2e:generateContent", "m1%5C..:generateContent", "../v1/files:generateContent", "m1%252F..:generateContent", "/m1:generateContent", "m1%0d%0ax:generateContent",
	}
	for _, m := range refused {
		got := raw(t, w, "POST", "/v1beta/models/"+m, "")
		if got.status != 400 && got.status != 404 && got.status != 405 {
			t.Errorf("%.60s: %d, want 400, 404 or 405", m, got.status)
		}
	}
	for _, id := range []string{"..%2f..%2fadmin", "%2e%2e", "x%2Fy", "x%3Fa=b", "a%5Cb"} {
		if got := raw(t, w, "GET", "/v1/responses/"+id, ""); got.status != 400 && got.status != 404 {
			t.Errorf("responses/%s: %d, want 400 or 404", id, got.status)
		}
	}
	w.wantHits(map[string]int{"*": 0})
}

// B050: a path that is not part of the data plane is not pooled.
func Test_B050_a_client_bound_path_is_not_sent_through_the_pool(t *testing.T) {
	w := start(t)
	w.good("a")
	for range 10 {
		got := w.do(call{method: "GET", path: "/api/oauth/organizations/org-x/info"}.with("Authorization", "Bearer mine"))
		got.want(t, 404)
	}
	w.do(msg).want(t, 200)
	w.wantHits(map[string]int{"*": 1})
}

// B146: without client keys a page of the web must not spend the accounts;
// tools and pages of this machine may.
func Test_B146_a_gateway_without_keys_serves_no_page_of_the_web(t *testing.T) {
	w := start(t)
	w.good("a")
	for origin, status := range map[string]int{
		"": 200, "http://localhost:3000": 200, "http://127.0.0.1:8080": 200, "http://[::1]:1": 200, "app://obsidian.md": 200,
		"http://evil.test": 401, "https://localhost.evil.test": 401, "https://10.0.0.1": 401,
	} {
		c := chat
		if origin != "" {
			c = c.with("Origin", origin)
		}
		if got := w.do(c); got.status != status {
			t.Errorf("origin %q: %d %s", origin, got.status, got.body)
		}
	}
	k := start(t, withClient)
	k.good("a")
	k.do(chat.with("Origin", "http://page.test").with("Authorization", "Bearer ck-test")).want(t, 200)
}
