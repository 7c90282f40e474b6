package bugs

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/catalogue"
	"github.com/waybill/waybill/test/upstream"
)

func Test_B005_a_200_stream_whose_first_event_is_an_error(t *testing.T) {
	rows := map[string]struct {
		call  call
		event string
		class string
	}{
		"anthropic_overloaded": {msgS, upstream.Named("error", `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`), "a-msg:overloaded"},
		"openai_code_429":      {chatS, upstream.Event(`{"error":{"code":429,"message":"x"}}`), "a:rate_limited"},
		"responses_failed":     {respS, upstream.Named("response.failed", `{"type":"response.failed","sequence_number":1,"response":{"id":"r1","status":"failed","error":{"code":"rate_limit_exceeded","message":"x"},"usage":null}}`), "a:rate_limited"},
		"gemini_raw_json":      {gemS, "{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"x\",\n    \"status\": \"RESOURCE_EXHAUSTED\"\n  }\n}\n", "a-gem:rate_limited"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.up.Script("a", upstream.StreamWith(200, "text/event-stream", []string{"X-Ratelimit-Remaining-Requests: 99"}, upstream.Raw(row.event)))
			w.good("b")
			got := w.do(row.call.with("Waybill-Session", "s1"))
			got.want(t, 200)
			surface := map[string]string{"anthropic_overloaded": "msg+s", "openai_code_429": "chat+s", "responses_failed": "resp+s", "gemini_raw_json": "gem+s"}[name]
			if got.body != whole(streams[surface]) {
				t.Errorf("body %q, want b's stream and no trace of a's", got.body)
			}
			w.wantHits(map[string]int{"a": 1, "b": 1})
			w.finished(1)
			if c := w.classes(); len(c) != 2 || c[0] != row.class || !strings.HasSuffix(c[1], ":success") {
				t.Errorf("outcomes %v, want %s and a success", c, row.class)
			}
			pins := slices.DeleteFunc(w.events(events.KindPinSet), func(e events.Event) bool { return e.Data.(*events.PinSet).Cause != "success" })
			if len(pins) != 1 || !strings.HasPrefix(pins[0].Account, "b") {
				t.Errorf("pins %v, want one on b", pins)
			}
		})
	}
}

func Test_B010_a_402_with_should_retry_false_fails_over(t *testing.T) {
	spent := upstream.JSON(402, `{"code":"team-blocked:spending-limit","error":"no credits"}`, "X-Should-Retry: false")
	t.Run("402", func(t *testing.T) {
		w := start(t)
		w.up.Script("a", spent)
		w.good("b")
		for range 3 {
			w.do(chat.with("Waybill-Session", "s1")).want(t, 200)
		}
		w.wantHits(map[string]int{"a": 1, "b": 3})
		w.finished(3)
		w.wantClasses("a:credits_exhausted", "b:success", "b:success", "b:success")
		if pins := w.events(events.KindPinSet, events.KindPinMoved); len(pins) != 1 || pins[0].Account != "b" {
			t.Errorf("pins %v, want one on b", pins)
		}
	})
	for _, status := range []int{403, 429, 500} {
		t.Run(fmt.Sprintf("control_%d", status), func(t *testing.T) {
			w := start(t)
			w.up.Script("a", upstream.JSON(status, `{"error":{"message":"no"}}`, "X-Should-Retry: false"))
			w.good("b")
			w.do(chat).want(t, status)
			w.wantHits(map[string]int{"b": 0})
		})
	}
	t.Run("all_are_spent", func(t *testing.T) {
		w := start(t)
		w.up.Script("*", spent)
		got := w.do(chat)
		got.want(t, http.StatusServiceUnavailable)
		if got.header.Get("Waybill-Refusal") != "accounts_unavailable" || strings.Contains(got.body, "team-blocked") || got.header.Get("X-Should-Retry") != "false" {
			t.Errorf("%v %s", got.header, got.body)
		}
		wantErrorShape(t, "chat", got.body)
		w.wantHits(map[string]int{"*": 2})
		w.finished(1)
		out := w.outcomes()
		f, _ := events.FailureOf(out[1].Data)
		if f.Followed != events.FollowedReturned || f.Reply == nil || f.Reply.Status != 503 || f.Reply.RetryAfter < 1 || len(f.Reply.Left) == 0 {
			t.Errorf("the last failure says %v %+v", f.Followed, f.Reply)
		}
		if first, _ := events.FailureOf(out[0].Data); first.Followed != events.FollowedFailover {
			t.Errorf("the first failure was followed by %v", first.Followed)
		}
	})
}

func Test_B062_silence_before_the_first_token_fails_over(t *testing.T) {
	role := map[string]string{"chat+s": upstream.ChatEvents[0], "msg+s": upstream.MsgEvents[0], "resp+s": upstream.RespEvents[0], "gem+s": ": thinking\n\n"}
	for name, c := range allOfS {
		ways := map[string][]upstream.Step{
			"headers_then_silence":   {upstream.Hang},
			"comments_then_the_end":  {upstream.Raw(": one\n\n"), upstream.Raw(": two\n\n")},
			"role_only_then_reset":   {upstream.Raw(role[name]), upstream.Reset},
			"role_only_then_silence": {upstream.Raw(role[name]), upstream.Hang},
		}
		for how, steps := range ways {
			t.Run(name+"/"+how, func(t *testing.T) {
				w := start(t, func(p *plan) { p.policy.FirstTokenTimeout = 300 * time.Millisecond })
				w.up.Script("a", upstream.Stream(steps...))
				w.good("b")
				got := w.do(c)
				got.want(t, 200)
				if got.body != whole(streams[name]) {
					t.Errorf("body %q, want b's stream alone", got.body)
				}
				if got.took > busy(1200*time.Millisecond) {
					t.Errorf("took %s", got.took)
				}
				w.wantHits(map[string]int{"a": 1, "b": 1})
			})
		}
	}
}

func Test_B064_empty_answers_are_no_success(t *testing.T) {
	empty := map[string]struct {
		call   call
		answer upstream.Answer
	}{
		"length_0":                   {chat, upstream.JSON(200, "")},
		"choices_empty":              {chat, upstream.JSON(200, `{"choices":[]}`)},
		"created_and_completed_only": {respS, upstream.Stream(upstream.Raw(upstream.RespEvents[0]), upstream.Raw(upstream.Named("response.completed", `{"type":"response.completed","sequence_number":1,"response":{"id":"r1","status":"completed","output":[],"usage":null}}`)))},
		"done_only":                  {chatS, upstream.Stream(upstream.Raw(upstream.Event("[DONE]")))},
		"whitespace":                 {chat, upstream.JSON(200, " \n\t ")},
		"messages_length_0":          {msg, upstream.JSON(200, "")},
		"gemini_length_0":            {gem, upstream.JSON(200, "")},
		"embeddings_empty":           {emb, upstream.JSON(200, `{"object":"list","data":[]}`)},
	}
	for name, row := range empty {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.up.Script("a", row.answer)
			w.good("b")
			w.do(row.call).want(t, 200)
			w.wantHits(map[string]int{"a": 1, "b": 1})
			w.finished(1)
			if c := w.classes(); len(c) != 2 || !strings.HasSuffix(c[0], ":malformed") || !strings.HasSuffix(c[1], ":success") {
				t.Errorf("outcomes %v", c)
			}
		})
		t.Run(name+"/everywhere", func(t *testing.T) {
			w := start(t)
			w.up.Script("*", row.answer)
			got := w.do(row.call)
			got.want(t, http.StatusBadGateway)
			if !strings.Contains(strings.ToLower(got.body), "empty_response") && !strings.Contains(got.header.Get("Waybill-Refusal"), "empty_response") {
				t.Errorf("%v %s, want empty_response", got.header, got.body)
			}
		})
	}
	full := map[string]struct {
		call call
		body string
	}{
		"tool_call_only":       {chat, `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`},
		"reasoning_only":       {chat, `{"choices":[{"index":0,"message":{"role":"assistant","content":"","reasoning_content":"hm"},"finish_reason":"length"}]}`},
		"content_filter":       {chat, `{"choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":9,"completion_tokens":0}}`},
		"embeddings_with_data": {emb, upstream.EmbBody},
	}
	for name, row := range full {
		t.Run("answer/"+name, func(t *testing.T) {
			w := start(t)
			w.up.Script("a", upstream.JSON(200, row.body))
			got := w.do(row.call)
			got.want(t, 200)
			if got.body != row.body {
				t.Errorf("body %q", got.body)
			}
		})
	}
}

func Test_B065_a_200_that_dies_before_it_parses(t *testing.T) {
	big := `{"choices":[{"message":{"content":"` + strings.Repeat("x", 2<<20) + `"}}]}`
	rows := map[string]struct {
		call   call
		answer upstream.Answer
	}{
		"html":                        {chat, upstream.Whole(200, "text/html", "<html><body>Bad gateway</body></html>")},
		"html_as_json":                {chat, upstream.JSON(200, "<!doctype html><html></html>")},
		"html_on_messages":            {msg, upstream.Whole(200, "text/html", "<html></html>")},
		"html_for_a_stream":           {chatS, upstream.Whole(200, "text/html", "<html></html>")},
		"cut_json":                    {chat, upstream.Steps(upstream.Bytes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"+upstream.ChatBody[:200]), upstream.Reset)},
		"cut_gemini_json":             {gem, upstream.Steps(upstream.Bytes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"), upstream.Raw(upstream.GemBody[:100]), upstream.Cut)},
		"larger_than_the_cap":         {chat, upstream.JSON(200, big)},
		"larger_than_the_cap_chunked": {chat, upstream.StreamWith(200, "application/json", nil, upstream.Raw(big))},
		"embeddings_without_data":     {emb, upstream.JSON(200, `{"data":[]}`)},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := start(t, func(p *plan) { p.policy.MaxBody = 1 << 20 })
			w.up.Script("a", row.answer)
			w.good("b")
			got := w.do(row.call)
			got.want(t, 200)
			w.wantHits(map[string]int{"a": 1, "b": 1})
			if strings.Contains(got.body, "html") {
				t.Errorf("body %q", got.body)
			}
		})
	}
}

func Test_B067_an_abandoned_attempt_is_cancelled_before_the_next_starts(t *testing.T) {
	w := start(t, func(p *plan) {
		p.names = []string{"a", "b", "c"}
		p.policy.HeaderTimeout, p.policy.MaxAttempts = 250*time.Millisecond, 3
	})
	w.up.Script("a", upstream.Steps(upstream.Hang))
	w.up.Script("b", upstream.Steps(upstream.Hang))
	w.good("c")
	text := strings.Repeat("x", 2<<20)
	got := w.do(chat.saying(`{"model":"m1","messages":[{"role":"user","content":"` + text + `"}]}`))
	got.want(t, 200)
	w.wantHits(map[string]int{"a": 1, "b": 1, "c": 1})
	for i, next := range map[string]string{"a": "b", "b": "c"} {
		wantGone(t, w.up.Hits(i)[0].Gone, 500*time.Millisecond, i)
		if string(w.up.Hits(next)[0].Body) != string(w.up.Hits(i)[0].Body) {
			t.Errorf("%s got another body than %s", next, i)
		}
	}
	w.finished(1)
	w.wantClasses("a:timeout", "b:timeout", "c:success")
	if n := len(w.events(events.KindAttemptRouted)); n != 3 {
		t.Errorf("%d attempts recorded, want 3", n)
	}
}

// TestB068_streaming_fails_over_like_the_rest is the matrix: status or network
// failure by surface by streaming. The decisions are the same in all of them.
func Test_B068_streaming_fails_over_like_the_rest(t *testing.T) {
	closed := closedPort(t)
	notTLS := upstream.New(t)
	faults := map[string]func(p *plan, w *world){
		"refused": func(p *plan, w *world) {
			if p != nil {
				p.base = map[string]string{"a": "http://" + closed}
			}
		},
		"tls": func(p *plan, w *world) {
			if p != nil {
				p.base = map[string]string{"a": "https://" + notTLS.Addr()}
			}
		},
	}
	for _, status := range []int{401, 402, 403, 429, 500, 503, 529} {
		faults[fmt.Sprint(status)] = func(p *plan, w *world) {
			if w != nil {
				w.up.Script("a", upstream.JSON(status, `{"error":{"message":"no"}}`))
			}
		}
	}
	for fault, set := range faults {
		t.Run(fault, func(t *testing.T) {
			for name := range allOf {
				var walks [2]string
				for i, c := range []call{allOf[name], allOfS[name+"+s"]} {
					w := start(t, func(p *plan) {
						p.policy.ConnectTimeout = 200 * time.Millisecond
						set(p, nil)
					})
					set(nil, w)
					w.good("b")
					w.do(c).want(t, 200)
					w.finished(1)
					walks[i] = strings.NewReplacer("-msg", "", "-gem", "").Replace(strings.Join(w.classes(), " "))
				}
				// A provider's own table may name a status more closely; the walk is the same.
				if walks[0] != walks[1] || !strings.HasPrefix(walks[0], "a:") || !strings.HasSuffix(walks[0], " b:success") {
					t.Errorf("%s: %s, streamed %s", name, walks[0], walks[1])
				}
			}
		})
	}
}

// closedPort is an address that refuses connections.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func Test_B070_a_body_that_is_too_large_is_not_sent_to_all(t *testing.T) {
	w := start(t)
	w.up.Script("*", upstream.JSON(413, `{"error":{"message":"Request too large for this model","type":"invalid_request_error"}}`))
	got := w.do(chat.saying(`{"model":"m1","messages":[{"role":"user","content":"` + strings.Repeat("x", 2<<20) + `"}]}`))
	got.want(t, 413)
	if !strings.Contains(got.body, "Request too large for this model") {
		t.Errorf("body %s, want the upstream's text", got.body)
	}
	if n := w.hits("*"); n > 2 {
		t.Errorf("%d accounts got it, want at most one more than the first", n)
	}
	w.good("a")
	w.do(chat).want(t, 200) // nobody is parked
}

// A long body goes through net/http, which repeats a request with such a key
// on its own when a connection that was used before dies under it.
func TestARequestWithAnIdempotencyKeyThatWasReadIsSentOnce(t *testing.T) {
	long := chat.saying(`{"model":"m1","messages":[{"role":"user","content":"` + strings.Repeat("x", 64<<10) + `"}]}`)
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		w := start(t, func(p *plan) { p.names = []string{"a"} })
		w.up.Script("a", upstream.Good, upstream.Steps(upstream.Reset), upstream.Good)
		w.do(long.with(header, "one")).want(t, 200)
		if got := w.do(long.with(header, "two")); got.status < 500 {
			t.Errorf("%s: status %d", header, got.status)
		}
		w.wantHits(map[string]int{"a": 2})
	}
}

func TestAnEndpointThatAnAnswerRulesOutIsNotAskedAgainByTheRequest(t *testing.T) {
	other := upstream.New(t)
	other.Script("c", upstream.Good)
	w := start(t, func(p *plan) {
		p.names, p.base = []string{"a", "b", "c"}, map[string]string{"c": other.URL()}
		p.provider = func(d events.Dialect, p *provider.Provider) {
			if d == events.DialectOpenAI {
				*p = *catalogue.Find("cerebras")
			}
		}
	})
	w.up.Script("a", upstream.JSON(429, `{"message":"We're experiencing high traffic right now","code":"queue_exceeded"}`))
	w.good("b")
	w.do(chat).want(t, 200)
	w.wantHits(map[string]int{"a": 1, "b": 0})
	if n := len(other.Hits("c")); n != 1 {
		t.Errorf("the account at the other endpoint was asked %d times", n)
	}
}
