package console_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/console"
	"github.com/waybill/waybill/projections/usage"
	"github.com/waybill/waybill/test/played"
)

// browser is a person at a played gateway's console.
type browser struct {
	t *testing.T
	*played.Gateway
	story  played.Story
	url    string
	client *http.Client
}

// prices has none for account c.
func prices() *usage.Prices {
	return &usage.Prices{Currency: "EUR", Rows: []usage.Price{{Model: "*", Account: "a", Input: 1_000_000, Output: 2_000_000}, {Model: "*", Account: "b"}}}
}

func open(t *testing.T, token string) *browser {
	t.Helper()
	g, _ := played.InMemory(t, "a", "b", "c")
	api := admin.New(admin.Options{Engine: g.Engine, Log: g.Log, Token: token, Version: "test", About: admin.About{Ledger: "memory", Sandbox: true}, Prices: prices})
	c, err := console.New(console.Options{API: api})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(c)
	t.Cleanup(func() { c.Close(); api.Close(); srv.Close() })
	b := &browser{t: t, Gateway: g, story: g.Incident(), url: srv.URL}
	b.client = b.fresh()
	return b
}

// fresh is a browser without cookies.
func (b *browser) fresh() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return &http.Client{Jar: jar, Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

type answer struct {
	*http.Response
	body string
}

func (b *browser) do(method, path string, form url.Values, header ...string) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{res, string(body)}
}

// see opens a page that must be there.
func (b *browser) see(path string) string {
	b.t.Helper()
	a := b.do(http.MethodGet, path, nil)
	if a.StatusCode != http.StatusOK {
		b.t.Fatalf("GET %s: %d %s", path, a.StatusCode, a.body)
	}
	return a.body
}

// has checks that a page says things.
func (b *browser) has(path string, want ...string) string {
	b.t.Helper()
	body := b.see(path)
	for _, w := range want {
		if !strings.Contains(body, w) {
			b.t.Errorf("%s does not say %q\n%s", path, w, body)
		}
	}
	return body
}

var csrfField = regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`)

func csrf(t *testing.T, page string) string {
	t.Helper()
	m := csrfField.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no form has a token: %s", page)
	}
	return m[1]
}

func TestEveryPageIsThere(t *testing.T) {
	b := open(t, "")
	rows := map[string][]string{
		"/":                                     {"<h1>Accounts</h1>", `data-account="b"`, "Sandbox"},
		"/accounts/b":                           {"<h1>b</h1>", `id="why"`, "payment required"},
		"/accounts/b/timeline?span=24h":         {`id="marks"`},
		"/requests":                             {b.story.Refused.String(), `data-outcome="refused"`, `">payment required</a>`},
		"/requests/" + b.story.Refused.String(): {"What happened", "agrees"},
		"/events":                               {"gateway.started"},
		"/events/1":                             {`&#34;position&#34;: 1`},
		"/usage?by=model":                       {"m1"},
		"/usage":                                {"cost, EUR", "≥ 0.000104", "No price for model m1 at c (openai-compatible).", `<td class="n">–</td>`},
		"/ledger":                               {`id="head"`, "No checkpoint"},
		"/what-if":                              {`name="park_cap"`},
		"/?at=2026-11-30T14:03:00Z":             {"You are looking at the past"},
	}
	for path, want := range rows {
		b.has(path, want...)
	}
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

func queryEscape(s string) string { return url.QueryEscape(s) }
