package bugs

import (
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

func usageOf(e events.Event) *events.Usage {
	if s, ok := e.Data.(*events.AttemptSucceeded); ok {
		return s.Answer.Usage
	}
	f, _ := events.FailureOf(e.Data)
	return f.Answer.Usage
}

func Test_B022_an_aborted_stream_keeps_its_usage(t *testing.T) {
	w := start(t)
	first := strings.Replace(upstream.MsgEvents[0], `"input_tokens":9`, `"input_tokens":1200`, 1)
	steps := []upstream.Step{upstream.Raw(first), upstream.Raw(upstream.MsgEvents[1])}
	for range 3 {
		steps = append(steps, upstream.Raw(upstream.MsgEvents[3]))
	}
	w.up.Script("a", upstream.Stream(append(steps, upstream.Hang)...))
	l := w.open(msgS)
	l.until(upstream.MsgEvents[3] + upstream.MsgEvents[3] + upstream.MsgEvents[3])
	from := time.Now()
	l.leave()
	wantGone(t, w.up.Hits("a")[0].Gone, time.Second, "abort")
	w.finished(1)
	if took := time.Since(from); took > busy(time.Second) {
		t.Errorf("recorded after %s", took)
	}
	out := w.outcomes()
	if len(out) != 1 || out[0].Data.Kind() != events.KindAttemptAborted {
		t.Fatalf("outcomes %v, want one client_aborted", w.classes())
	}
	u := usageOf(out[0])
	if u == nil || u.Input != events.Int(1200) || !u.Partial || u.Output.V >= 300 {
		t.Errorf("usage %+v, want 1200 in and what was seen, partial", u)
	}
}

// B103: what is recorded is what the upstream said; absent is not zero.
func Test_B103_explicit_zero_null_and_absent_usage(t *testing.T) {
	chunk := func(usage string) string {
		return upstream.Event(`{"id":"c1","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]` + usage + `}`)
	}
	last := upstream.Event(`{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	real := upstream.Event(`{"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`)
	rows := map[string]struct {
		events []string
		want   *events.Usage
	}{
		"null_then_real": {[]string{chunk(`,"usage":null`), last, real}, &events.Usage{Input: events.Int(9), Output: events.Int(2)}},
		"real_then_null": {[]string{chunk(`,"usage":{"prompt_tokens":9,"completion_tokens":2}`), chunk(`,"usage":null`), last}, &events.Usage{Input: events.Int(9), Output: events.Int(2)}},
		"zeros":          {[]string{chunk(""), last, upstream.Event(`{"id":"c1","choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}`)}, &events.Usage{Input: events.Int(0), Output: events.Int(0)}},
		"none":           {[]string{chunk(""), last}, nil},
		"empty":          {[]string{chunk(`,"usage":{}`), last}, nil},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.up.Script("a", upstream.Stream(upstream.Chunks(append(row.events, upstream.Event("[DONE]")))...))
			w.do(chatS).want(t, 200)
			w.finished(1)
			got := usageOf(w.outcomes()[0])
			if (got == nil) != (row.want == nil) || got != nil && *got != *row.want {
				t.Errorf("usage %+v, want %+v", got, row.want)
			}
		})
	}
}

func Test_B104_usage_in_the_terminal_event(t *testing.T) {
	for name, event := range map[string]string{
		"completed":  upstream.RespEvents[5],
		"incomplete": strings.ReplaceAll(strings.Replace(upstream.RespEvents[5], `"status":"completed","model"`, `"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"model"`, 1), "response.completed", "response.incomplete"),
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.up.Script("a", upstream.Stream(upstream.Chunks(append(append([]string(nil), upstream.RespEvents[:5]...), event))...))
			w.do(respS).want(t, 200)
			w.finished(1)
			if u := usageOf(w.outcomes()[0]); u == nil || u.Input != events.Int(9) || u.Output != events.Int(1) {
				t.Errorf("%v usage %+v", w.classes(), u)
			}
		})
	}
	t.Run("without_message_start", func(t *testing.T) {
		w := start(t)
		evs := append([]string(nil), upstream.MsgEvents[1:]...)
		for i := range evs {
			evs[i] = strings.Replace(evs[i], `"output_tokens":2`, `"output_tokens":15`, 1)
		}
		w.up.Script("a", upstream.Stream(upstream.Chunks(evs)...))
		w.do(msgS).want(t, 200)
		w.finished(1)
		if u := usageOf(w.outcomes()[0]); u == nil || u.Input.Set || u.Output != events.Int(15) {
			t.Errorf("usage %+v, want unknown in and 15 out", u)
		}
	})
}

// B106: an idempotency key passes through; the ledger attributes per attempt.
func Test_B106_one_request_two_attempts(t *testing.T) {
	w := start(t)
	w.up.Script("a", upstream.Steps(upstream.Bytes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Usage: 5\r\nContent-Length: 400\r\n\r\n"+upstream.ChatBody[:50]), upstream.Reset))
	w.good("b")
	got := w.do(chat.with("Idempotency-Key", "k1"))
	got.want(t, 200)
	w.wantHits(map[string]int{"a": 1, "b": 1})
	for _, account := range []string{"a", "b"} {
		if w.up.Hits(account)[0].Header.Get("Idempotency-Key") != "k1" {
			t.Errorf("%s got no idempotency key", account)
		}
	}
	w.finished(1)
	out := w.outcomes()
	for i, e := range out {
		if e.Request.String() != got.header.Get("Waybill-Request-Id") || int(e.Attempt) != i+1 {
			t.Errorf("outcome %d belongs to %s attempt %d", i, e.Request, e.Attempt)
		}
	}
	if len(out) != 2 || usageOf(out[0]) != nil || usageOf(out[1]) == nil {
		t.Errorf("%v: usage %+v, want none of a and b's", w.classes(), usageOf(out[0]))
	}
}

// The key is the client's: the same body may come again, another may not, and
// another client's key is another key.
func Test_B106_one_key_with_two_bodies(t *testing.T) {
	w := start(t)
	w.good("a")
	first := chat.with("Idempotency-Key", "k1")
	w.do(first).want(t, 200)
	w.do(first).want(t, 200)
	other := chat.saying(`{"model":"m1","messages":[{"role":"user","content":"something else"}]}`)
	got := w.do(other.with("Idempotency-Key", "k1"))
	got.want(t, 409)
	if got.header.Get("Waybill-Refusal") != "idempotency_conflict" || got.header.Get("X-Should-Retry") != "false" {
		t.Errorf("%v", got.header)
	}
	w.do(other.with("Idempotency-Key", "k2")).want(t, 200)
	w.do(other).want(t, 200)
	w.wantHits(map[string]int{"a": 4})
}
