package bugs

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

func has(word string) func(*upstream.Hit) bool {
	return func(h *upstream.Hit) bool { return strings.Contains(string(h.Body), word) }
}

func Test_B001_one_unreadable_403_parks_nobody(t *testing.T) {
	w := start(t, func(p *plan) { p.names = []string{"a", "b", "c", "d"} })
	w.up.Script("*", upstream.Good)
	w.up.When(has("trigger"), upstream.Whole(403, "text/plain", ""))
	got := w.do(chat.saying(strings.Replace(chat.body, `"hi"`, `"trigger"`, 1)))
	got.want(t, 403)
	wantErrorShape(t, "chat", got.body)
	w.wantHits(map[string]int{"*": 2})
	w.do(chat).want(t, 200)
	w.wantHits(map[string]int{"*": 3, "a": 2})
	w.finished(2)
	w.wantClasses("a:unclassified", "b:unclassified", "a:success")
}

func Test_B044_a_5xx_is_not_turned_into_a_429(t *testing.T) {
	w := start(t, func(p *plan) { p.names = []string{"a", "b", "c"} })
	w.up.Script("b", upstream.JSON(429, `{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}`))
	w.up.Script("c", upstream.JSON(429, `{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}`))
	w.up.Script("a", upstream.Whole(520, "text/html", "<html>origin <b>error</b></html>"))
	w.do(chat) // parks b and c behind a
	before := w.hits("*")
	got := w.do(chat)
	if got.status != 502 && got.status != 503 {
		t.Errorf("status %d, want the class of a's failure; %s", got.status, got.body)
	}
	if strings.Contains(got.body, "<b>") {
		t.Errorf("HTML in the answer: %s", got.body)
	}
	wantErrorShape(t, "chat", got.body)
	if n := w.hits("*") - before; n != 1 {
		t.Errorf("%d hits, want a's alone", n)
	}
	w.finished(2)
	out := w.outcomes()
	f, _ := events.FailureOf(out[len(out)-1].Data)
	if f.Class != events.ClassServerError || f.Answer.Status != 520 || f.Reply == nil || len(f.Reply.Left) != 3 {
		t.Errorf("recorded %v %d %+v", f.Class, f.Answer.Status, f.Reply)
	}
}

// B046: R12 files the outage under the endpoint; its cooldown is the only thing
// that stands between the port's opening and the next success, and it is soft.
func Test_B046_a_host_that_cannot_be_reached_is_no_accounts_fault(t *testing.T) {
	addr := closedPort(t)
	w := start(t, func(p *plan) { p.base = map[string]string{"a": "http://" + addr, "b": "http://" + addr} })
	for range 10 {
		got := w.do(chat)
		if got.status != 502 && got.status != 503 {
			t.Errorf("status %d %s", got.status, got.body)
		}
	}
	w.finished(10)
	for _, e := range w.outcomes() {
		f, _ := events.FailureOf(e.Data)
		if f.Class != events.ClassNetwork || f.Scope.Kind != events.ScopeEndpoint {
			t.Errorf("recorded as %s of %s", f.Class, f.Scope)
		}
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, upstream.ChatBody)
	})}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("open the port: %v", err)
	}
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	w.do(chat).want(t, 200)
}

func Test_B047_silence_is_the_same_for_plain_and_streamed(t *testing.T) {
	var seen [2]string
	for i, c := range []call{chat, chatS} {
		w := start(t, func(p *plan) { p.policy.FirstTokenTimeout = 200 * time.Millisecond })
		w.up.Script("a", upstream.Steps(upstream.Bytes("HTTP/1.1 200 OK\r\nContent-Type: "+[]string{"application/json", "text/event-stream"}[i]+"\r\nTransfer-Encoding: chunked\r\n\r\n"), upstream.Hang))
		w.good("b")
		for range 5 {
			got := w.do(c)
			got.want(t, 200)
			if got.took > busy(time.Second) {
				t.Errorf("took %s", got.took)
			}
		}
		w.finished(5)
		seen[i] = strings.Join(w.classes(), " ")
		if n := w.hits("a"); n > 3 {
			t.Errorf("hits(a) = %d, want at most the health threshold", n)
		}
	}
	if seen[0] != seen[1] {
		t.Errorf("plain %s, streamed %s", seen[0], seen[1])
	}
}

func Test_B049_a_cooldown_is_seen_by_the_selection_that_follows(t *testing.T) {
	const said = "message rate limit for this model. Resets in: 0h0m4s"
	for name, row := range map[string]struct {
		call   call
		answer upstream.Answer
	}{
		"streamed": {chatS, upstream.Stream(upstream.Raw(upstream.Event(`{"error":{"code":429,"message":"` + said + `"}}`)))},
		"plain":    {chat, upstream.JSON(429, `{"error":{"code":429,"message":"`+said+`"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.up.Script("a", row.answer)
			w.good("b")
			for range 3 {
				w.do(row.call).want(t, 200)
			}
			w.wantHits(map[string]int{"a": 1, "b": 3})
			w.finished(3)
			f, _ := events.FailureOf(w.outcomes()[0].Data)
			if f.Class != events.ClassRateLimited || f.Hint == nil || f.Hint.Until == 0 {
				t.Fatalf("recorded as %s with hint %+v", f.Class, f.Hint)
			}
			if wait := f.Hint.Until.Sub(f.Answer.AnsweredAt); wait < 3*time.Second || wait > 5*time.Second {
				t.Errorf("the stated wait was read as %s", wait)
			}
		})
	}
}

func Test_B041_a_refusal_of_content_parks_nobody(t *testing.T) {
	w := start(t, func(p *plan) { p.names = []string{"a"} })
	w.good("a")
	w.up.When(has("forbidden words"), upstream.JSON(403, `{"error":"cannot help with that"}`))
	w.do(chat.saying(strings.Replace(chat.body, `"hi"`, `"forbidden words"`, 1))).want(t, 403)
	w.do(chat).want(t, 200)
}

func TestAnswersOfTheLastAttempt(t *testing.T) {
	rows := []struct {
		name   string
		answer upstream.Answer
		status int
		code   string // Waybill-Refusal, "" when the upstream's own body passes
	}{
		{"401 is ours to know", upstream.JSON(401, `{"error":{"message":"Incorrect API key provided: a"}}`), 503, "accounts_unavailable"},
		{"402 is ours to know", upstream.JSON(402, `{"error":{"message":"no credits"}}`), 503, "accounts_unavailable"},
		{"400 passes", upstream.JSON(400, `{"error":{"message":"bad","type":"invalid_request_error"}}`), 400, ""},
		{"422 passes", upstream.JSON(422, `{"error":{"message":"bad"}}`), 422, ""},
		{"404 passes", upstream.JSON(404, `{"error":{"message":"The model m1 does not exist","code":"model_not_found"}}`), 404, ""},
		{"500 passes", upstream.JSON(500, `{"error":{"message":"boom"}}`), 500, ""},
		{"503 passes", upstream.JSON(503, `{"error":{"message":"busy"}}`), 503, ""},
		{"529 passes", upstream.JSON(529, `{"error":{"message":"overloaded"}}`), 529, ""},
		{"599 becomes 502", upstream.JSON(599, `{"error":{"message":"odd"}}`), 502, "upstream_error"},
		{"a redirect becomes 502", upstream.JSON(307, ``, "Location: http://127.0.0.1:1/"), 502, "upstream_error"},
		{"HTML is put into words", upstream.Whole(503, "text/html", "<html>x</html>"), 503, "upstream_error"},
		{"a reset becomes 502", upstream.Steps(upstream.Reset), 502, "upstream_error"},
	}
	for _, row := range rows {
		t.Run(strings.ReplaceAll(row.name, " ", "_"), func(t *testing.T) {
			w := start(t)
			w.up.Script("*", row.answer)
			got := w.do(chat)
			got.want(t, row.status)
			if code := got.header.Get("Waybill-Refusal"); code != row.code {
				t.Errorf("Waybill-Refusal %q, want %q", code, row.code)
			}
			if row.code != "" {
				wantErrorShape(t, "chat", got.body)
			}
			if done := w.finished(1); done[0].Outcome != "failed" {
				t.Errorf("outcome %s", done[0].Outcome)
			}
			out := w.outcomes()
			f, _ := events.FailureOf(out[len(out)-1].Data)
			if f.Followed != events.FollowedReturned || f.Reply == nil || int(f.Reply.Status) != row.status {
				t.Errorf("recorded as followed by %v with %+v", f.Followed, f.Reply)
			}
			if n := len(w.events(events.KindRequestRefused)); n != 0 {
				t.Errorf("%d refusals recorded of a request that was dispatched", n)
			}
		})
	}
}

func TestARefusalIsRecordedAndTellsHowToAsk(t *testing.T) {
	w := start(t)
	w.up.Script("*", upstream.JSON(429, `{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}`))
	first := w.do(chat)
	first.want(t, 429)
	got := w.do(chat)
	got.want(t, 429)
	w.wantHits(map[string]int{"*": 2})
	if got.header.Get("Waybill-Refusal") != "accounts_exhausted" || !strings.Contains(got.body, "have exhausted their quota") || got.header.Get("Retry-After") == "" || got.header.Get("X-Should-Retry") != "false" {
		t.Errorf("%v %s", got.header, got.body)
	}
	refused := w.events(events.KindRequestRefused)
	if len(refused) != 1 || refused[0].Request.String() != got.header.Get("Waybill-Request-Id") {
		t.Errorf("%d refusals recorded", len(refused))
	}
}
