package bugs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

// gemA is a stream in Gemini's other form: a JSON array that grows.
var gemA = call{method: "POST", path: "/v1beta/models/m1:streamGenerateContent", body: gem.body}

func arrayParts() []string {
	part := func(e string) string { return strings.TrimSuffix(strings.TrimPrefix(e, "data: "), "\n\n") }
	return []string{"[" + part(upstream.GemEvents[0]), "\n,\n" + part(upstream.GemEvents[1]), "\n]"}
}

func array(steps ...upstream.Step) upstream.Answer {
	return upstream.StreamWith(200, "application/json", nil, steps...)
}

func TestGeminiArraysAreRelayedAsTheyGrow(t *testing.T) {
	parts := arrayParts()
	t.Run("whole", func(t *testing.T) {
		w := start(t)
		w.up.Script("a", array(upstream.Chunks(parts)...))
		got := w.do(gemA)
		got.want(t, 200)
		if got.body != whole(parts) || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%v %s", got.header, got.body)
		}
		w.finished(1)
		w.wantClasses("a-gem:success")
	})
	t.Run("element_by_element", func(t *testing.T) {
		w := start(t)
		seen := make(chan struct{})
		w.up.Script("a", array(upstream.Raw(parts[0]), upstream.Await(seen), upstream.Raw(parts[1]+parts[2])))
		l := w.open(gemA)
		if took := l.until("hel"); took > busy(200*time.Millisecond) {
			t.Errorf("the first element took %s", took)
		}
		close(seen)
		if got, err := l.rest(); got != whole(parts) || err != nil {
			t.Errorf("%s %v", got, err)
		}
	})
	t.Run("broken_ends_with_an_error_element", func(t *testing.T) {
		w := start(t)
		seen := make(chan struct{})
		w.up.Script("a", array(upstream.Raw(parts[0]), upstream.Await(seen), upstream.Raw("\n,\n{\"candidates\":[{\"con"), upstream.Reset))
		l := w.open(gemA)
		l.until("hel")
		close(seen)
		got, err := l.rest()
		if err != nil {
			t.Fatal(err)
		}
		var elements []map[string]any
		if err := json.Unmarshal([]byte(got), &elements); err != nil || len(elements) != 2 || elements[1]["error"] == nil {
			t.Errorf("%s: %v, want one element and one error", got, err)
		}
	})
	t.Run("an_error_after_content_closes_the_array", func(t *testing.T) {
		w := start(t)
		seen := make(chan struct{})
		w.up.Script("a", array(upstream.Raw(parts[0]), upstream.Await(seen), upstream.Raw("\n,\n"+`{"error":{"code":500,"message":"boom"}}`+"\n"), upstream.Hang))
		l := w.open(gemA)
		l.until("hel")
		close(seen)
		got, err := l.rest()
		var elements []map[string]any
		if err != nil || json.Unmarshal([]byte(got), &elements) != nil || len(elements) != 2 || elements[1]["error"] == nil {
			t.Errorf("%s: %v, want one element and its error", got, err)
		}
	})
	t.Run("first_element_is_an_error", func(t *testing.T) {
		w := start(t)
		w.up.Script("a", array(upstream.Raw(`[{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED"}}]`)))
		w.up.Script("b", array(upstream.Chunks(parts)...))
		if got := w.do(gemA); got.body != whole(parts) {
			t.Errorf("%s", got.body)
		}
		w.wantHits(map[string]int{"a": 1, "b": 1})
	})
}

func TestFormsPassAndTheirModelIsRewritten(t *testing.T) {
	w := start(t, alias("whisper-up"))
	w.up.Script("a", upstream.JSON(200, `{"text":"hello"}`))
	var b bytes.Buffer
	f := multipart.NewWriter(&b)
	file, _ := f.CreateFormFile("file", "a.wav")
	io.WriteString(file, strings.Repeat("\x00\x01model", 100))
	f.WriteField("model", "m1")
	f.WriteField("prompt", "m1")
	f.Close()
	c := call{method: "POST", path: "/v1/audio/transcriptions", body: b.String()}.with("Content-Type", f.FormDataContentType())
	got := w.do(c)
	got.want(t, 200)
	h := w.up.Hits("a")[0]
	want := strings.Replace(b.String(), "name=\"model\"\r\n\r\nm1", "name=\"model\"\r\n\r\nwhisper-up", 1)
	if string(h.Body) != want || h.Header.Get("Content-Type") != f.FormDataContentType() {
		t.Errorf("upstream got %s%q", h.Head, h.Body)
	}
}

func TestSoundPassesAsItComes(t *testing.T) {
	w := start(t)
	seen := make(chan struct{})
	w.up.Script("a", upstream.StreamWith(200, "audio/mpeg", nil, upstream.Raw("ID3\x00first"), upstream.Await(seen), upstream.Raw("last")))
	l := w.open(call{method: "POST", path: "/v1/audio/speech", body: `{"model":"m1","input":"hi","voice":"x"}`})
	l.until("first")
	close(seen)
	if got, err := l.rest(); got != "ID3\x00firstlast" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	w.finished(1)
	w.wantClasses("a:success")
}

// TestAStreamThatCannotBeEndedIsCut: bytes that no error event can follow end
// with the connection, never as if they were whole.
func TestAStreamThatCannotBeEndedIsCut(t *testing.T) {
	for name, row := range map[string]struct {
		call   call
		answer func(seen chan struct{}) upstream.Answer
	}{
		"sound": {call{method: "POST", path: "/v1/audio/speech", body: `{"model":"m1","input":"hi","voice":"x"}`}, func(seen chan struct{}) upstream.Answer {
			return upstream.StreamWith(200, "audio/mpeg", nil, upstream.Raw("ID3first"), upstream.Await(seen), upstream.Reset)
		}},
		"compressed": {chatS.with("Accept-Encoding", "gzip"), func(seen chan struct{}) upstream.Answer {
			steps := packEach("gzip", upstream.ChatEvents)
			return upstream.StreamWith(200, "text/event-stream", []string{"Content-Encoding: gzip"}, steps[0], steps[1], upstream.Await(seen), upstream.Reset)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			seen := make(chan struct{})
			w.up.Script("a", row.answer(seen))
			l := w.open(row.call)
			l.r.ReadByte()
			close(seen)
			if got, err := l.rest(); err == nil {
				t.Errorf("%q ended cleanly", got)
			}
			w.finished(1)
			w.wantIdle()
		})
	}
}

// TestAnotherWaybillsRefusalIsNoFact: its accounts are not ours (R17).
func TestAnotherWaybillsRefusalIsNoFact(t *testing.T) {
	w := start(t)
	w.up.Script("a", upstream.JSON(429, `{"error":{"message":"All accounts have exhausted their quota","code":"accounts_exhausted"}}`, "Waybill-Refusal: accounts_exhausted", "Retry-After: 3600"))
	w.good("b")
	for range 3 {
		w.do(chat).want(t, 200)
	}
	w.wantHits(map[string]int{"a": 3, "b": 3})
	w.finished(3)
	for _, e := range w.outcomes() {
		if f, ok := events.FailureOf(e.Data); ok && (f.Rule != "waybill:refusal" || f.Scope.Kind != events.ScopeRequest) {
			t.Errorf("recorded as %s by %s of %s", f.Class, f.Rule, f.Scope)
		}
	}
}

func TestAClientThatStopsReadingIsLetGo(t *testing.T) {
	w := start(t, func(p *plan) { p.policy.IdleTimeout = 300 * time.Millisecond })
	w.up.Script("a", func(x *upstream.Exchange) error {
		if err := x.Write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
			return err
		}
		big := upstream.Event(`{"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 60<<10) + `"}}]}`)
		for {
			if err := x.Write(fmt.Sprintf("%x\r\n%s\r\n", len(big), big)); err != nil {
				return err
			}
		}
	})
	c, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", chatS.path, len(chatS.body), chatS.body)
	w.finished(1) // without the client's help
	w.wantIdle()
	wantGone(t, w.up.Hits("a")[0].Gone, time.Second, "stalled client")
}

func TestAnEmptyAnswerIsNeverMadeUp(t *testing.T) {
	w := start(t)
	w.good("a")
	c, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n%s", chat.path, chat.body)
	c.(*net.TCPConn).CloseWrite() // half of a body
	b, _ := io.ReadAll(c)
	if bytes.HasPrefix(b, []byte("HTTP/1.1 200")) {
		t.Errorf("answered %q", b)
	}
	w.wantHits(map[string]int{"*": 0})
}

func TestLargeRequestsUseAnotherPathOfTheSameRules(t *testing.T) {
	w := start(t)
	w.up.Script("a", upstream.JSON(500, `{"error":{"message":"boom"}}`), upstream.Steps(upstream.Hang))
	w.good("b")
	c := chatS.saying(`{"stream":true,"model":"m1","messages":[{"role":"user","content":"` + strings.Repeat("x", 300<<10) + `"}]}`)
	w.do(c).want(t, http.StatusOK)
	w.wantHits(map[string]int{"a": 1, "b": 1})
	w.abandonAfter(c, "a", 2)
	wantGone(t, w.up.Hits("a")[1].Gone, time.Second, "client gone")
	w.finished(2)
	w.wantClasses("a:server_error", "b:success", "a:client_aborted")
}
