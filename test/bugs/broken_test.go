package bugs

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/test/upstream"
)

// after is a streaming call whose upstream goes on only when the client has the
// content.
func (w *world) after(c call, content string, then ...upstream.Step) answer {
	w.t.Helper()
	seen := make(chan struct{})
	w.up.Script("a", upstream.Stream(append([]upstream.Step{upstream.Raw(content), upstream.Await(seen)}, then...)...))
	l := w.open(c)
	l.until(content)
	close(seen)
	body, err := l.rest()
	return answer{status: l.res.StatusCode, header: l.res.Header, body: body, err: err}
}

// TestABrokenStreamsStatusIsWhatItsClientGot, and what was seen of its usage
// stays, however it ended.
func TestABrokenStreamsStatusIsWhatItsClientGot(t *testing.T) {
	first := strings.Replace(upstream.MsgEvents[0], `"input_tokens":9`, `"input_tokens":1200`, 1)
	boom := upstream.Named("error", `{"type":"error","error":{"type":"overloaded_error","message":"boom"}}`)
	for name, end := range map[string][]upstream.Step{
		"an error event": {upstream.Raw(boom), upstream.Hang}, "a reset": {upstream.Reset}, "a clean end": {upstream.Finish}, "a cut": {upstream.Cut},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			got := w.after(msgS, first+upstream.MsgEvents[1]+upstream.MsgEvents[3], end...)
			got.want(t, http.StatusOK)
			if bad, _ := errorFrames("msg+s", frames(got.body)); bad != 1 || !strings.HasSuffix(got.body, "}\n\n") || strings.HasSuffix(got.body, "\n\n\n") {
				t.Errorf("%d error events in %q", bad, got.body)
			}
			if r := w.row(got); r.Outcome != requests.Failed || r.Status != http.StatusOK {
				t.Errorf("the ledger says %s with %d", r.Outcome, r.Status)
			}
			if u := usageOf(w.outcomes()[0]); u == nil || u.Input != events.Int(1200) || !u.Partial {
				t.Errorf("usage %+v, want 1200 in, partial", u)
			}
		})
	}
}

// TestAnErrorEventKeepsItsBlankLine: the relay adds none to an error event that
// has one, whatever ends its lines, and ends one that has none.
func TestAnErrorEventKeepsItsBlankLine(t *testing.T) {
	const event = `event: error` + "\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"boom"}}`
	for name, row := range map[string]struct{ sent, want string }{
		"LF":       {event + "\n\n", event + "\n\n"},
		"CRLF":     {strings.ReplaceAll(event, "\n", "\r\n") + "\r\n\r\n", strings.ReplaceAll(event, "\n", "\r\n") + "\r\n\r\n"},
		"one line": {event + "\n", event + "\n\n"},
		"no end":   {event, event + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			content := upstream.MsgEvents[0] + upstream.MsgEvents[1] + upstream.MsgEvents[3]
			if got := w.after(msgS, content, upstream.Raw(row.sent)); got.body != content+row.want {
				t.Errorf("%q, want %q behind the content", strings.TrimPrefix(got.body, content), row.want)
			}
		})
	}
}

// TestDeclaredTrailersNeverBreakAnAnswer, on either path to an upstream
// (directly, and through the transport for large bodies).
func TestDeclaredTrailersNeverBreakAnAnswer(t *testing.T) {
	body := whole(upstream.ChatEvents)
	large := strings.Replace(chatS.body, `"hi"`, `"`+strings.Repeat("x", 1<<16)+`"`, 1)
	for _, declared := range []string{"Content-Length", "transfer-encoding", "TRAILER", "X-Usage, Content-Length"} {
		for name, c := range map[string]call{"small": chatS, "large": chatS.saying(large)} {
			t.Run(declared+"/"+name, func(t *testing.T) {
				w := start(t)
				w.up.Script("a", upstream.StreamWith(200, "text/event-stream", []string{"trailer: " + declared},
					upstream.Raw(body), upstream.Trailer("Content-Length: 3")), upstream.Good)
				got := w.do(c)
				got.want(t, http.StatusOK)
				if got.body != body || got.header.Get("Trailer") != "" {
					t.Errorf("trailer %q, body %q", got.header.Get("Trailer"), got.body)
				}
				w.do(c).want(t, http.StatusOK) // the connection's next answer
				w.wantClasses("a:success", "a:success")
			})
		}
	}
}

// TestAnUnderscoreIsAHyphenInAHeadersName: servers of many languages make no
// difference, so neither spelling of what stays here may travel.
func TestAnUnderscoreIsAHyphenInAHeadersName(t *testing.T) {
	w := start(t)
	w.good("a")
	c := chat
	for _, name := range []string{"X-My_secret", "my_api_key", "X_Forwarded_For", "Session_Token", "OpenAI_Organization", "Content_Length"} {
		c = c.with(name, "hidden")
	}
	w.do(c.with("X_Plain", "seen")).want(t, http.StatusOK)
	if h := w.up.Hits("a")[0].Head; strings.Contains(h, "hidden") || !strings.Contains(h, "seen") {
		t.Errorf("the upstream got %s", h)
	}
}

// TestAnErrorEventIsJudgedBeforeItIsGiven, also when its blank line comes in a
// later packet than its data: what it says of the account stays here.
func TestAnErrorEventIsJudgedBeforeItIsGiven(t *testing.T) {
	w := start(t, func(p *plan) { p.names, p.keys = []string{"a"}, map[string]string{"a": "sk-a-long-secret"} })
	content := upstream.ChatEvents[0] + upstream.ChatEvents[1]
	seen, given := make(chan struct{}), make(chan struct{})
	w.up.Script("sk-a-long-secret", upstream.Stream(upstream.Raw(content), upstream.Await(seen),
		upstream.Raw(`data: {"error":{"message":"the key sk-a-long-secret is tired","type":"server_error"}}`+"\n"), upstream.Signal(given), upstream.Wait(100*time.Millisecond), upstream.Raw("\n")))
	l := w.open(chatS)
	l.until(content)
	close(seen)
	<-given
	if body, err := l.rest(); err != nil || strings.Contains(body, "long-secret") || !strings.Contains(body, "is tired") {
		t.Errorf("%v in %q", err, body)
	}
}
