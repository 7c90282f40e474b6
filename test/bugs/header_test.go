package bugs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

// B079: there is no translation; the rewritten model changes the length.
func Test_B079_framing_is_computed_anew(t *testing.T) {
	for _, alias := range []string{"", "a-model-name-that-is-longer-by-far", "m"} {
		for _, framing := range []string{"length", "chunked"} {
			t.Run(fmt.Sprintf("%s_%s", alias, framing), func(t *testing.T) {
				w := start(t, func(p *plan) {
					p.models = []events.Route{{Name: "m1", Tiers: []events.Tier{{Accounts: []string{"a"}, Model: alias}}}}
				})
				w.good("a")
				head := "POST /v1/chat/completions HTTP/1.1\r\nHost: gw\r\nConnection: close, X-Drop\r\nX-Drop: 1\r\nTE: trailers\r\nKeep-Alive: timeout=5\r\nUpgrade: h2c\r\nExpect: 100-continue\r\nProxy-Connection: keep-alive\r\n"
				body := chat.body
				if framing == "chunked" {
					head, body = head+"Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
				} else {
					head += fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
				}
				got := rawBytes(t, w, "POST", head+body)
				if got.status != 200 {
					t.Fatalf("status %d %s", got.status, got.body)
				}
				h := w.up.Hits("a")[0]
				want := chat.body
				if alias != "" {
					want = strings.Replace(want, `"m1"`, `"`+alias+`"`, 1)
				}
				if string(h.Body) != want || h.Header.Get("Content-Length") != fmt.Sprint(len(want)) {
					t.Errorf("upstream got %s%s", h.Head, h.Body)
				}
				for _, name := range []string{"Transfer-Encoding", "X-Drop", "Te", "Keep-Alive", "Upgrade", "Expect", "Proxy-Connection", "Connection"} {
					if h.Header.Get(name) != "" {
						t.Errorf("%s: %s reached the upstream", name, h.Header.Get(name))
					}
				}
			})
		}
	}
}

func Test_B080_what_the_header_says_is_what_the_bytes_are(t *testing.T) {
	stream := whole(upstream.ChatEvents)
	answers := map[string]struct {
		call   call
		plain  string
		answer func(coding string) upstream.Answer
		status int
	}{
		"json": {chat, upstream.ChatBody, func(c string) upstream.Answer {
			return upstream.JSON(200, pack(c, upstream.ChatBody), "Content-Encoding: "+c)
		}, 200},
		"sse": {chatS, stream, func(c string) upstream.Answer {
			return upstream.StreamWith(200, "text/event-stream", []string{"Content-Encoding: " + c}, packEach(c, upstream.ChatEvents)...)
		}, 200},
		"error": {chat, `{"error":{"message":"bad parameter"}}`, func(c string) upstream.Answer {
			return upstream.JSON(400, pack(c, `{"error":{"message":"bad parameter"}}`), "Content-Encoding: "+c)
		}, 400},
	}
	for _, accept := range []string{"gzip", "br", "identity", ""} {
		for _, coding := range []string{"gzip", "br"} {
			for name, row := range answers {
				t.Run(fmt.Sprintf("accept_%s/%s_%s", accept, coding, name), func(t *testing.T) {
					w := start(t)
					w.up.Script("a", row.answer(coding))
					c := row.call
					if accept != "" {
						c = c.with("Accept-Encoding", accept)
					}
					got := w.do(c)
					got.want(t, row.status)
					if plain := unpack(t, got.header.Get("Content-Encoding"), got.body); plain != row.plain {
						t.Errorf("%v: %q, want %q", got.header, plain, row.plain)
					}
					asked := w.up.Hits("a")[0].Header.Get("Accept-Encoding")
					if want := map[string]string{"gzip": "gzip", "br": "br"}[accept]; want != "" && asked != want || want == "" && asked != "identity" {
						t.Errorf("the upstream was asked for %q", asked)
					}
					w.finished(1)
					out := w.outcomes()[0]
					if f, ok := events.FailureOf(out.Data); ok {
						if !strings.Contains(f.BodyHead, "bad parameter") {
							t.Errorf("error text %q", f.BodyHead)
						}
					} else if out.Data.(*events.AttemptSucceeded).Answer.Usage == nil {
						t.Error("no usage was read")
					}
				})
			}
		}
	}
	t.Run("every_event_at_once", func(t *testing.T) {
		w := start(t)
		seen := make(chan struct{})
		var steps []upstream.Step
		for _, s := range packEach("gzip", upstream.ChatEvents) {
			steps = append(steps, s, upstream.Await(seen))
		}
		w.up.Script("a", upstream.StreamWith(200, "text/event-stream", []string{"Content-Encoding: gzip"}, steps...))
		go func() { seen <- struct{}{} }() // the role-only event is held back
		l := w.open(chatS.with("Accept-Encoding", "gzip"))
		z, err := gzip.NewReader(l.r)
		if err != nil {
			t.Fatal(err)
		}
		plain := ""
		for i, e := range upstream.ChatEvents {
			from := time.Now()
			for !strings.Contains(plain, e) {
				buf := make([]byte, 512)
				n, err := z.Read(buf)
				if plain += string(buf[:n]); err != nil {
					t.Fatalf("event %d: %v", i, err)
				}
			}
			if took := time.Since(from); took > busy(100*time.Millisecond) {
				t.Errorf("event %d took %s", i, took)
			}
			if i > 0 && i < len(upstream.ChatEvents)-1 {
				seen <- struct{}{}
			}
		}
		close(seen)
	})
}

func pack(coding, s string) string {
	var b bytes.Buffer
	w := packer(coding, &b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

type flushCloser interface {
	io.WriteCloser
	Flush() error
}

func packer(coding string, b io.Writer) flushCloser {
	if coding == "br" {
		return brotli.NewWriter(b)
	}
	return gzip.NewWriter(b)
}

// packEach compresses a stream, flushed after each event.
func packEach(coding string, evs []string) []upstream.Step {
	var b bytes.Buffer
	w := packer(coding, &b)
	var steps []upstream.Step
	for i, e := range evs {
		io.WriteString(w, e)
		w.Flush()
		if i == len(evs)-1 {
			w.Close()
		}
		steps = append(steps, upstream.Raw(b.String()))
		b.Reset()
	}
	return steps
}

func unpack(t *testing.T, coding, s string) string {
	t.Helper()
	var r io.Reader = strings.NewReader(s)
	switch coding {
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatalf("unpack: %v", err)
		}
		r = z
	case "br":
		r = brotli.NewReader(r)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("unpack %s: %v", coding, err)
	}
	return string(b)
}

func Test_B082_beta_and_version_headers(t *testing.T) {
	w := start(t, func(p *plan) { p.headers = http.Header{"Anthropic-Beta": {"oauth-x, b-2"}} })
	w.good("a", "b")
	w.do(msg.with("Anthropic-Beta", "a-1,b-2").with("Anthropic-Beta", "c-3").with("Anthropic-Version", "2023-01-01")).want(t, 200)
	h := w.up.Hits("a")[0].Header
	if got := h.Values("Anthropic-Beta"); len(got) != 1 || got[0] != "a-1,b-2,c-3,oauth-x" {
		t.Errorf("anthropic-beta %q, want the union, each once", got)
	}
	if got := h.Values("Anthropic-Version"); len(got) != 1 || got[0] != "2023-01-01" {
		t.Errorf("anthropic-version %q, want the client's", got)
	}
	w.do(msg).want(t, 200)
	h = w.up.Hits("a")[1].Header
	if h.Get("Anthropic-Version") != "2023-06-01" || h.Get("Anthropic-Beta") != "oauth-x,b-2" {
		t.Errorf("defaults %v", h)
	}
	w.do(chat.with("Anthropic-Beta", "a-1")).want(t, 200)
	if h := w.up.Hits("a")[2].Header; h.Get("Anthropic-Beta") != "" || h.Get("Anthropic-Version") != "" {
		t.Errorf("another provider got %v", h)
	}
}

func Test_B085_no_credential_follows_a_redirect(t *testing.T) {
	sink := upstream.New(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for name, c := range allOf {
			t.Run(fmt.Sprintf("%d_%s", status, name), func(t *testing.T) {
				w := start(t)
				w.up.Script("a", upstream.JSON(status, "", "Location: "+sink.URL()+"/v1/messages?key=a"))
				w.good("b")
				w.do(c)
				w.up.Script("*", upstream.JSON(status, "", "Location: "+sink.URL()+"/v1/messages"))
				w.up.Script("b", upstream.JSON(status, "", "Location: "+sink.URL()+"/v1/messages"))
				got := w.do(c)
				if got.status < 400 || got.header.Get("Location") != "" || strings.Contains(got.body, sink.Addr()) {
					t.Errorf("%d %v %s", got.status, got.header, got.body)
				}
			})
		}
	}
	if n := len(sink.Hits("*")); n != 0 {
		t.Errorf("the sink got %d requests", n)
	}
}

// B086: the named families never pass, other unknown headers do.
func Test_B086_headers_of_the_way_here_stay_here(t *testing.T) {
	w := start(t)
	w.good("a")
	c := chat.with("X-Vendor-Flag", "on").with("User-Agent", "client/1")
	edge := []string{"CF-Visitor", "CF-Warp-Tag-Id", "CDN-Loop", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Via", "True-Client-IP", "X-Real-IP",
		"Origin", "Referer", "Cookie", "Authorization", "X-Api-Key", "X-Goog-Api-Key", "OpenAI-Organization", "OpenAI-Project", "X-Goog-User-Project", "Proxy-Authorization", "Waybill-Session", "X-Amz-Security-Token"}
	for _, name := range edge {
		c = c.with(name, "edge-value")
	}
	w.do(c).want(t, 200)
	h := w.up.Hits("a")[0]
	if strings.Contains(h.Head, "edge-value") {
		t.Errorf("upstream got %s", h.Head)
	}
	if h.Host != w.up.Addr() {
		t.Errorf("Host %q, want the account's", h.Host)
	}
	if h.Header.Get("X-Vendor-Flag") != "on" || h.Header.Get("User-Agent") != "client/1" {
		t.Errorf("upstream got %s, want unknown headers as sent", h.Head)
	}
}

func TestAnswersCarryNoLimitsOrganisationsOrCookies(t *testing.T) {
	dropped := []string{"X-Ratelimit-Limit-Requests: 9", "Anthropic-Ratelimit-Unified-Status: allowed", "Retry-After: 9", "X-Should-Retry: true", "Openai-Organization: org-1", "Anthropic-Organization-Id: o1",
		"Set-Cookie: a=b", "X-Codex-Primary-Used-Percent: 9", "Cf-Ray: 1", "Alt-Svc: h3", "Connection: X-Hop", "X-Hop: 1", "Waybill-Refusal: accounts_exhausted", "X-Upstream-Note: your key a-long-secret is fine"}
	for status, body := range map[int]string{200: upstream.ChatBody, 400: `{"error":{"message":"bad"}}`, 429: `{"error":{"message":"slow down"}}`} {
		w := start(t, func(p *plan) { p.names, p.keys = []string{"a"}, map[string]string{"a": "a-long-secret"} })
		w.up.Script("a-long-secret", upstream.JSON(status, body, append(dropped, "X-Request-Id: up-1", "X-Kept: yes")...))
		got := w.do(chat)
		got.want(t, status)
		for _, line := range dropped {
			name, value, _ := strings.Cut(line, ": ")
			if v := got.header.Get(name); v != "" && (name != "Retry-After" && name != "X-Should-Retry" || v == value && status != 429) && name != "Connection" {
				t.Errorf("%d: %s: %s was passed on", status, name, v)
			}
		}
		if got.header.Get("X-Request-Id") != "up-1" || got.header.Get("X-Kept") != "yes" {
			t.Errorf("%d: %v, want the upstream's request id and unknown headers", status, got.header)
		}
	}
}

func TestARefusalCarriesOurRequestID(t *testing.T) {
	w := start(t, func(p *plan) { p.models = []events.Route{{Name: "other"}} })
	for name, header := range map[string]string{"chat": "X-Request-Id", "msg": "Request-Id"} {
		got := w.do(allOf[name])
		got.want(t, 404)
		if id := got.header.Get("Waybill-Request-Id"); got.header.Get(header) != id || !strings.HasSuffix(strings.Split(got.body, `"`)[strings.Count(strings.Split(got.body, "waybill why")[0], `"`)], "waybill why "+id) {
			t.Errorf("%v %s", got.header, got.body)
		}
	}
}
