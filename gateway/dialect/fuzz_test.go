package dialect

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/waybill/waybill/gateway/dialect/sse/ssetest"
)

// FuzzInspect: no inspector panics, none depends on where chunks end, and what
// a broken stream leaves with a client always ends in one error.
func FuzzInspect(f *testing.F) {
	ops := Operations()
	for i, o := range ops {
		if text, ok := okStreams[o.Dialect.String()+"."+o.Name]; ok {
			f.Add([]byte(text), uint8(i), uint8(SSE), uint64(1))
			f.Add([]byte(text[:len(text)/2]), uint8(i), uint8(SSE), uint64(2))
		}
		f.Add([]byte(`{"error":{"code":1},"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`), uint8(i), uint8(JSON), uint64(3))
		f.Add([]byte(`[{"candidates":[{"finishReason":"STOP"}]},{"error":{}}]`), uint8(i), uint8(Array), uint64(4))
		f.Add([]byte("<html>"), uint8(i), uint8(Text), uint64(5))
	}
	f.Fuzz(func(t *testing.T, text []byte, which, form uint8, seed uint64) {
		o, want := ops[int(which)%len(ops)], Form(form%5)
		r := rand.New(rand.NewPCG(seed, 1))
		random := func(left int) int { return 1 + r.IntN(left) }
		for _, contentType := range []string{media(want), ""} {
			for _, end := range []error{nil, errCut} {
				whole := watch(o, want, contentType, string(text), end, all)
				if got := watch(o, want, contentType, string(text), end, random); !reflect.DeepEqual(got, whole) {
					t.Fatalf("%s %q: in pieces %+v, whole %+v: %q", o.Name, contentType, got, whole, text)
				}
				if whole.Safe < 0 || whole.Safe > int64(len(text)) || end == nil && whole.Safe != int64(len(text)) {
					t.Fatalf("safe %d of %d", whole.Safe, len(text))
				}
				if whole.Terminal != "" && (whole.Failed != nil || whole.Malformed != "" || !whole.Meaningful) {
					t.Fatalf("a success that is none: %+v", whole)
				}
				if end != nil && want == SSE && contentType != "" {
					endsInOneError(t, o, text[:whole.Safe], whole)
				}
			}
		}
	})
}

func endsInOneError(t *testing.T, o *Operation, released []byte, s *Seen) {
	r := *broke
	r.Dialect = o.Dialect
	client := string(released) + string(BreakOff(o, SSE, s, &r))
	got := ssetest.Parse(client)
	if got.Rest != nil || len(got.Events) == 0 {
		t.Fatalf("the end of %q is not dispatched", client)
	}
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got.Events[len(got.Events)-1].Data), &v); err != nil || v["error"] == nil {
		t.Fatalf("the last event of %q is no error", client)
	}
}

// FuzzRequest: what is refused is refused for any chunks, and what is accepted
// can be rewritten into a request for exactly the other model.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{`{"model":"m1"}`, `{"mod\u0065l":"m\u00e9"}`, oddBody, `{"model":"m1","model":"m1"}`, "{}", "[]", `{"requests":[{"model":"models/m"}]}`} {
		f.Add([]byte(s))
	}
	chat := op(f, "openai.chat")
	f.Fuzz(func(t *testing.T, text []byte) {
		b, q, err := take(chat, Head{}, string(text))
		if err != nil {
			return
		}
		defer b.Close()
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal(text, &before); err != nil {
			t.Fatalf("accepted %q: %v", text, err)
		}
		var model string
		if json.Unmarshal(before["model"], &model) != nil || model != q.Model {
			t.Fatalf("model %q, encoding/json has %q", q.Model, model)
		}
		if err := json.Unmarshal([]byte(sent(t, b, q, "other/\"model")), &after); err != nil {
			t.Fatalf("rewritten %q: %v", text, err)
		}
		if string(after["model"]) != `"other/\"model"` {
			t.Fatalf("asks for %s", after["model"])
		}
		delete(before, "model")
		delete(after, "model")
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("rewriting changed %v into %v", before, after)
		}
	})
}

func BenchmarkInspect(b *testing.B) {
	for name, frame := range map[string]string{
		"openai.chat":                  stream(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1796000000,"model":"m1","choices":[{"index":0,"delta":{"content":"Hello there"},"finish_reason":null}],"usage":null}`),
		"openai.responses":             stream(`response.output_text.delta|{"type":"response.output_text.delta","sequence_number":12,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello there"}`),
		"anthropic.messages":           stream(`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello there"}}`),
		"gemini.streamGenerateContent": stream(`{"candidates":[{"content":{"parts":[{"text":"Hello there"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":2,"totalTokenCount":14},"modelVersion":"m1"}`),
	} {
		b.Run(name+"_frame", func(b *testing.B) {
			in, p := op(b, name).Inspect(SSE, "text/event-stream"), []byte(frame)
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				in.Feed(p)
			}
		})
		b.Run(name+"_stream", func(b *testing.B) {
			o, p := op(b, name), []byte(okStreams[name])
			b.ReportAllocs()
			for b.Loop() {
				in := o.Inspect(SSE, "text/event-stream")
				in.Feed(p)
				in.End(nil)
			}
		})
	}
	b.Run("openai.chat_json_1KB", func(b *testing.B) {
		o, p := op(b, "openai.chat"), []byte(`{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"`+string(make([]byte, 0))+`hello hello hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}`)
		b.ReportAllocs()
		for b.Loop() {
			in := o.Inspect(JSON, "application/json")
			in.Feed(p)
			in.End(nil)
		}
	})
}
