package bugs

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

// alias routes m1 to account a under another name.
func alias(name string) func(*plan) {
	return func(p *plan) {
		p.models = []events.Route{{Name: "m1", Tiers: []events.Tier{{Accounts: []string{"a", "a-msg", "a-gem"}, Model: name}}}}
	}
}

func Test_B026_bodies_keep_their_bytes(t *testing.T) {
	body := "{ \"model\" :\t\"m1\" ,\n\"messages\":[{\"role\":\"user\",\"content\":\"\\u00e9 caf\\u00E9\"}],\"x_vendor\": {\"b\":1,\"a\":2}," +
		`"n":[1.0, 1e3,  -0, 1E400 ],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"zebra":{},"apple":{},"mango":{}}}}}],"cache_control":{"type":"ephemeral"}}` + " \n"
	for _, name := range []string{"", "another-model"} {
		w := start(t, alias(name))
		w.good("a")
		for range 2 {
			w.do(chat.saying(body)).want(t, 200)
		}
		want := body
		if name != "" {
			want = strings.Replace(body, `"m1"`, `"`+name+`"`, 1)
		}
		for _, h := range w.up.Hits("a") {
			if string(h.Body) != want {
				t.Errorf("upstream got %q, want %q", h.Body, want)
			}
		}
	}
}

func compressed(coding, s string) string {
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "zstd":
		w, _ = zstd.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw_deflate":
		w, _ = flate.NewWriter(&b, 6)
	default:
		return pack(coding, s)
	}
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func Test_B031_compressed_requests(t *testing.T) {
	for name, c := range map[string]call{"chat": chat, "resp": resp, "msg": msg} {
		for _, coding := range []string{"zstd", "gzip", "deflate", "br", "identity", "gzip, zstd", "zstd without the header"} {
			t.Run(name+"/"+strings.ReplaceAll(coding, " ", "_"), func(t *testing.T) {
				w := start(t)
				w.up.Script("a", upstream.JSON(503, `{"error":{"message":"busy"}}`))
				w.good("b")
				var sent call
				switch coding {
				case "identity":
					sent = c.with("Content-Encoding", coding)
				case "gzip, zstd":
					sent = c.saying(compressed("zstd", compressed("gzip", c.body))).with("Content-Encoding", coding)
				case "zstd without the header":
					sent = c.saying(compressed("zstd", c.body))
				default:
					sent = c.saying(compressed(coding, c.body)).with("Content-Encoding", coding)
				}
				w.do(sent).want(t, 200)
				for _, account := range []string{"a", "b"} {
					h := w.up.Hits(account)[0]
					if string(h.Body) != c.body || h.Header.Get("Content-Encoding") != "" || h.Header.Get("Content-Length") != fmt.Sprint(len(c.body)) {
						t.Errorf("%s got %s%q", account, h.Head, h.Body)
					}
				}
			})
		}
	}
	bomb := compressed("gzip", `{"model":"m1","x":"`+strings.Repeat("x", 32<<20))
	refused := map[string]struct {
		call   call
		status int
	}{
		"unknown_coding": {chat.with("Content-Encoding", "x-foo"), 415},
		"corrupt":        {chat.with("Content-Encoding", "gzip"), 400},
		"truncated":      {chat.saying(compressed("zstd", chat.body)[:20]).with("Content-Encoding", "zstd"), 400},
		"bomb":           {chat.saying(bomb).with("Content-Encoding", "gzip"), 413},
	}
	for name, row := range refused {
		t.Run(name, func(t *testing.T) {
			w := start(t, func(p *plan) { p.policy.MaxBody = 1 << 20 })
			w.good("a", "b")
			got := w.do(row.call)
			got.want(t, row.status)
			wantErrorShape(t, "chat", got.body)
			w.wantHits(map[string]int{"*": 0})
			if n := len(w.outcomes()); n != 0 {
				t.Errorf("%d outcomes of accounts", n)
			}
		})
	}
}

func Test_B088_unions_and_nulls_stay_what_they_are(t *testing.T) {
	for _, body := range []string{
		`{"model":"m1","messages":[{"role":"user","content":"hi"}]}`,
		`{"model":"m1","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}],"tool_choice":"auto","stop":"x"}`,
		`{"model":"m1","messages":[],"tool_choice":{"type":"function","function":{"name":"f"}},"stop":["x","y"],"user":null}`,
		`{"model":"m1","messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"a":{"b":{"unknown":null}}}}},"tool_choice":null}`,
	} {
		w := start(t, alias("up"))
		w.good("a")
		w.do(chat.saying(body)).want(t, 200)
		var sent, got map[string]any
		if json.Unmarshal([]byte(body), &sent) != nil || json.Unmarshal(w.up.Hits("a")[0].Body, &got) != nil {
			t.Fatal("no JSON")
		}
		if got["model"] != "up" {
			t.Errorf("model %v", got["model"])
		}
		sent["model"] = "up"
		if !reflect.DeepEqual(sent, got) {
			t.Errorf("upstream got %v, want %v", got, sent)
		}
	}
}

func Test_B089_numbers_pass_token_for_token(t *testing.T) {
	numbers := `[9007199254740993, 9223372036854775807, 1.0, 1e-7, 0.1, -0, 1E400]`
	w := start(t, alias("up"))
	answer := strings.Replace(upstream.ChatBody, `"content":"hello"`, `"content":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{}"},"n":`+numbers+`}]`, 1)
	w.up.Script("a", upstream.JSON(200, answer))
	body := `{"model":"m1","messages":[],"seed":9223372036854775807,"metadata":` + numbers + `}`
	got := w.do(chat.saying(body))
	got.want(t, 200)
	if got.body != answer {
		t.Errorf("answer %s", got.body)
	}
	if string(w.up.Hits("a")[0].Body) != strings.Replace(body, "m1", "up", 1) {
		t.Errorf("request %s", w.up.Hits("a")[0].Body)
	}
}

func Test_B091_the_limit_counts_bytes_not_headers(t *testing.T) {
	w := start(t, func(p *plan) { p.policy.MaxBody = 64 << 10 })
	w.good("a")
	text := `{"model":"m1","messages":[{"role":"user","content":"` + strings.Repeat("x", 80<<10) + `"}]}`
	for name, head := range map[string]string{"stated": fmt.Sprintf("Content-Length: %d\r\n\r\n", len(text)), "chunked": "Transfer-Encoding: chunked\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			body := text
			if name == "chunked" {
				var b strings.Builder
				for at := 0; at < len(text); at += 1024 {
					piece := text[at:min(at+1024, len(text))]
					fmt.Fprintf(&b, "%x\r\n%s\r\n", len(piece), piece)
				}
				body = b.String() + "0\r\n\r\n"
			}
			got := rawBytes(t, w, "POST", "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+head+body)
			if got.status != 413 || !got.closes {
				t.Errorf("%d %v, want 413 and the connection closed", got.status, got.header)
			}
		})
	}
	t.Run("endless", func(t *testing.T) {
		c, err := net.Dial("tcp", w.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprint(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
		piece := fmt.Sprintf("%x\r\n%s\r\n", 16<<10, strings.Repeat(" ", 16<<10))
		sent := 0
		for ; sent < 64<<20; sent += 16 << 10 {
			if _, err := io.WriteString(c, piece); err != nil {
				break
			}
		}
		if sent > 16<<20 {
			t.Errorf("%d bytes were taken", sent)
		}
	})
	w.wantHits(map[string]int{"*": 0})
}

func Test_B092_bodies_go_out_with_a_length(t *testing.T) {
	t.Run("chunked", func(t *testing.T) {
		w := start(t)
		w.good("a")
		req, _ := http.NewRequest("POST", w.server.URL+chat.path, io.MultiReader(strings.NewReader(chat.body[:10]), strings.NewReader(chat.body[10:])))
		res, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		readAll(t, res)
		h := w.up.Hits("a")[0]
		if string(h.Body) != chat.body || h.Header.Get("Content-Length") != fmt.Sprint(len(chat.body)) || strings.Contains(h.Head, "Transfer-Encoding") {
			t.Errorf("upstream got %s%s", h.Head, h.Body)
		}
	})
	for name, body := range map[string]string{
		"empty": "", "no_model": "{}", "array": "[]", "null": "null", "two_models": `{"model":"m1","messages":[],"model":"m2"}`,
		"bom": "\ufeff" + chat.body, "trailing": chat.body + "x", "half": chat.body[:20], "model_is_a_number": `{"model":1}`, "empty_model": `{"model":""}`,
	} {
		for surface, c := range map[string]call{"chat": chat, "resp": resp, "msg": msg} {
			t.Run(name+"/"+surface, func(t *testing.T) {
				w := start(t)
				w.good("a")
				got := w.do(c.saying(body))
				got.want(t, 400)
				wantErrorShape(t, surface, got.body)
				w.wantHits(map[string]int{"*": 0})
			})
		}
	}
}

func TestLargeBodiesAreReplayedFromTheSpool(t *testing.T) {
	w := start(t, alias2("ma", "mb"))
	w.up.Script("a", upstream.JSON(503, `{"error":{"message":"busy"}}`))
	w.good("b")
	body := `{"messages":[{"role":"user","content":"` + strings.Repeat("é", 3<<20) + `"}],"model":"m1"}`
	w.do(chat.saying(body)).want(t, 200)
	for account, model := range map[string]string{"a": "ma", "b": "mb"} {
		h := w.up.Hits(account)[0]
		if string(h.Body) != strings.Replace(body, `"model":"m1"`, `"model":"`+model+`"`, 1) {
			t.Errorf("%s got %d bytes ending in %q", account, len(h.Body), h.Body[len(h.Body)-30:])
		}
		if !strings.Contains(h.Head, fmt.Sprintf("Content-Length: %d\r\n", len(body))) {
			t.Errorf("%s got %s", account, h.Head)
		}
	}
}

func alias2(a, b string) func(*plan) {
	return func(p *plan) {
		p.models = []events.Route{{Name: "m1", Tiers: []events.Tier{{Accounts: []string{"a"}, Model: a}, {Accounts: []string{"b"}, Model: b}}}}
	}
}

// B149 also holds for a prefix that is removed before dispatch.
func Test_B149_every_attempt_starts_from_the_clients_bytes(t *testing.T) {
	w := start(t, alias2("ma", "mb"))
	w.up.Script("a", upstream.JSON(503, `{"error":{"message":"busy"}}`))
	w.good("b")
	w.do(chat).want(t, 200)
	for account, model := range map[string]string{"a": "ma", "b": "mb"} {
		if got := string(w.up.Hits(account)[0].Body); got != strings.Replace(chat.body, "m1", model, 1) {
			t.Errorf("%s got %s", account, got)
		}
	}
	w.finished(1)
	routed := w.events(events.KindAttemptRouted)
	for i, want := range []string{"ma", "mb"} {
		if e := routed[i]; e.Model != want || e.Data.(*events.AttemptRouted).Stamp.Asked != "m1" {
			t.Errorf("attempt %d: asked %q, sent %q", i+1, e.Data.(*events.AttemptRouted).Stamp.Asked, e.Model)
		}
	}
}

func Test_B151_only_the_model_member_is_rewritten(t *testing.T) {
	w := start(t, alias("up"))
	answer := strings.Replace(upstream.ChatBody, "hello", `say \"model\":\"up\" and \"model\" : \"m1\"`, 1)
	evs := append([]string(nil), upstream.ChatEvents...)
	evs[1] = strings.Replace(evs[1], `"hel"`, `"\"model\":\"up\" \"mo"`, 1)
	w.up.Script("a", upstream.JSON(200, answer), upstream.Stream(upstream.Chunks(strings.SplitAfter(whole(evs), "mod"))...))
	body := `{"messages":[{"role":"user","content":"\"model\":\"m1\""}],"metadata":{"model":"m1"},"model" : "m1"}`
	if got := w.do(chat.saying(body)); got.body != answer {
		t.Errorf("answer %s, want it untouched", got.body)
	}
	if got := w.do(chatS); got.body != whole(evs) {
		t.Errorf("stream %s, want it untouched", got.body)
	}
	if got := string(w.up.Hits("a")[0].Body); got != strings.Replace(body, `"model" : "m1"`, `"model" : "up"`, 1) {
		t.Errorf("upstream got %s", got)
	}
}

func Test_B152_one_path_for_every_spelling_of_the_base(t *testing.T) {
	for _, prefix := range []string{"", "/proxy"} {
		for _, base := range []string{"", "/", "/v1", "/v1/", "/v1beta", "/v1beta/"} {
			t.Run(strings.ReplaceAll(prefix+base, "/", "_"), func(t *testing.T) {
				w := start(t)
				moved := start(t, func(p *plan) { p.base = map[string]string{"a": w.up.URL() + prefix + base} })
				w.up.Script("a", func(x *upstream.Exchange) error {
					if strings.Contains(x.Hit.Target, "messages") {
						return upstream.JSON(200, upstream.MsgBody)(x)
					}
					return upstream.Good(x)
				})
				want := map[string]string{"/v1/messages?beta=true": "/v1/messages?beta=true", "/v1beta/models/m1:streamGenerateContent?alt=sse&key=z": "/v1beta/models/m1:streamGenerateContent?alt=sse",
					"/v1beta/models/models/m1:generateContent": "/v1beta/models/m1:generateContent", "/v1/chat/completions": "/v1/chat/completions"}
				n := 0
				for path, upstreamPath := range want {
					c := chat
					switch {
					case strings.Contains(path, "messages"):
						c = msg
					case strings.Contains(path, "models"):
						c = gem
					}
					if c.path = path; strings.Contains(base, "v1beta") && strings.Contains(path, "chat") {
						continue // no SDK's base URL of this dialect
					}
					if strings.HasPrefix(base, "/v1beta") && c.path == "/v1/messages?beta=true" || strings.TrimSuffix(base, "/") == "/v1" && strings.Contains(path, "models") {
						continue
					}
					moved.do(c).want(t, 200)
					hits := w.up.Hits("a")
					if n++; len(hits) != n || hits[n-1].Target != prefix+upstreamPath {
						t.Errorf("%s went to %s, want %s", path, hits[len(hits)-1].Target, prefix+upstreamPath)
					}
				}
			})
		}
	}
}

func Test_B154_listed_models_are_routable_as_they_stand(t *testing.T) {
	w := start(t, func(p *plan) {
		p.names = []string{"a", "b", "c"}
		p.settings = func(name string, s *events.Settings) {
			switch name {
			case "a":
				s.Provider, s.Known = "acme-one", []string{"m"}
			case "b":
				s.Provider, s.Known = "b", []string{"m"}
			case "c":
				s.Provider, s.Known = "c", []string{"stealth/ox", "b/deep-x"}
			}
		}
		p.models = []events.Route{}
	})
	w.good("a", "b", "c")
	list := w.do(call{method: "GET", path: "/v1/models"})
	list.want(t, 200)
	var models struct{ Data []struct{ ID string } }
	if err := json.Unmarshal([]byte(list.body), &models); err != nil || len(models.Data) != 3 {
		t.Fatalf("list %s (%v)", list.body, err)
	}
	for _, m := range models.Data {
		w.do(chat.saying(`{"model":"`+m.ID+`","messages":[]}`)).want(t, 200)
		w.do(call{method: "GET", path: "/v1/models/" + m.ID}).want(t, 200)
	}
	w.wantHits(map[string]int{"c": 2})
	for asked, account := range map[string]string{"B/m": "b", "b/m": "b", "Acme-One/m": "a", "c/stealth/ox": "c"} {
		before := w.hits(account)
		w.do(chat.saying(`{"model":"`+asked+`","messages":[]}`)).want(t, 200)
		if w.hits(account) != before+1 {
			t.Errorf("%s did not go to %s", asked, account)
		}
	}
	w.do(chat.saying(`{"model":"nobody/m","messages":[]}`)).want(t, 404)
	w.do(call{method: "GET", path: "/v1/models/nobody/m"}).want(t, 404)
}

func TestModelListsSpeakTheCallersDialect(t *testing.T) {
	w := start(t)
	for shape, c := range map[string]call{
		`"data":[{"id":"m1","object":"model",`: {method: "GET", path: "/v1/models"},
		`"type":"model"`:                       call{method: "GET", path: "/v1/models"}.with("Anthropic-Version", "2023-06-01"),
		`{"models":[{"name":"models/m1"`:       {method: "GET", path: "/v1beta/models"},
	} {
		got := w.do(c)
		got.want(t, 200)
		if !strings.Contains(got.body, shape) {
			t.Errorf("%s %v: %s, want %s", c.path, c.header, got.body, shape)
		}
	}
}

// TestModelListsOfAccountsWithoutAPattern: what is listed is what upstreams
// list, as far as it can be asked for here.
func TestModelListsOfAccountsWithoutAPattern(t *testing.T) {
	w := start(t, func(p *plan) {
		p.models = []events.Route{}
		p.settings = func(name string, s *events.Settings) {
			s.Known = nil
			if name == "b" {
				s.Models = []string{"only-*"}
			}
		}
	})
	w.up.Script("a", upstream.JSON(200, `{"object":"list","data":[{"id":"m-1"},{"id":"../x"},{"id":"org/m-2"}]}`))
	w.up.Script("b", upstream.JSON(500, `{"error":{"message":"boom"}}`))
	for range 3 {
		got := w.do(call{method: "GET", path: "/v1/models"})
		got.want(t, 200)
		if !strings.Contains(got.body, `"m-1"`) || !strings.Contains(got.body, `"org/m-2"`) || strings.Contains(got.body, "..") {
			t.Errorf("list %s", got.body)
		}
	}
	w.wantHits(map[string]int{"a": 1, "b": 1})
	if target := w.up.Hits("a")[0].Target; target != "/v1/models" {
		t.Errorf("asked at %s", target)
	}
	if n := len(w.outcomes()); n != 0 {
		t.Errorf("%d outcomes recorded of questions for lists", n)
	}
	w.good("a")
	w.do(chat.saying(`{"model":"org/m-2","messages":[]}`)).want(t, 200)
	gemini := start(t, func(p *plan) { p.names, p.models = []string{"a"}, []events.Route{} })
	gemini.up.Script("a", upstream.JSON(200, `{"models":[{"name":"models/gemini-9"}],"data":[{"id":"claude-9"}]}`))
	for path, want := range map[string]string{"/v1beta/models": `"models/gemini-9"`, "/v1beta/models/gemini-9": `"models/gemini-9"`} {
		if got := gemini.do(call{method: "GET", path: path}); got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if target := gemini.up.Hits("a")[0].Target; target != "/v1beta/models" {
		t.Errorf("asked at %s", target)
	}
}
