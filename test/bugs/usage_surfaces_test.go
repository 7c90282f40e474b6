package bugs

import (
	"net/http"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/usage"
	"github.com/waybill/waybill/test/upstream"
)

// surface is one way to ask, with an answer that tells usage as its dialect
// does, plain and as a stream.
type surface struct {
	plain, stream call
	body          string
	events        []string
	want          events.Usage
	early         *events.Usage // what the first event of the stream has told; nil: nothing
}

func tokensOf(in, cached, written, out, reasoning int64) events.Usage {
	opt := func(n int64) events.OptInt {
		if n < 0 {
			return events.OptInt{}
		}
		return events.Int(n)
	}
	return events.Usage{Input: opt(in), CachedInput: opt(cached), CacheWrite: opt(written), Output: opt(out), Reasoning: opt(reasoning)}
}

func surfaces() map[string]surface {
	chatUsage := `"usage":{"prompt_tokens":20000,"completion_tokens":900,"total_tokens":20900,"prompt_tokens_details":{"cached_tokens":16000},"completion_tokens_details":{"reasoning_tokens":32}}`
	respUsage := `"usage":{"input_tokens":20000,"input_tokens_details":{"cached_tokens":16000},"output_tokens":900,"output_tokens_details":{"reasoning_tokens":32},"total_tokens":20900}`
	msgIn := `"input_tokens":7,"cache_read_input_tokens":9000,"cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_1h_input_tokens":600,"ephemeral_5m_input_tokens":400}`
	legacy := call{method: "POST", path: "/v1/completions", body: `{"model":"m1","prompt":"hi"}`}
	gemPart := func(text, more string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[{"text":"` + text + `"}]},"index":0` + more + `}],`
	}
	early := tokensOf(10007, 9000, 1000, 1, -1)
	gemEarly := tokensOf(1200, 1000, -1, 2, -1)
	return map[string]surface{
		"chat": {chat, chatS, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],` + chatUsage + `}`,
			[]string{upstream.Event(`{"id":"c","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}],"usage":null}`), upstream.Event(`{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
				upstream.Event(`{"id":"c","choices":[],` + chatUsage + `}`), upstream.Event("[DONE]")}, tokensOf(20000, 16000, -1, 900, 32), nil},
		"completions": {legacy, legacy.saying(`{"model":"m1","prompt":"hi","stream":true}`), `{"id":"c","object":"text_completion","choices":[{"index":0,"text":"hi","finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}`,
			[]string{upstream.Event(`{"id":"c","choices":[{"index":0,"text":"hi","finish_reason":null}]}`), upstream.Event(`{"id":"c","choices":[{"index":0,"text":"","finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}`), upstream.Event("[DONE]")},
			tokensOf(5, -1, -1, 7, -1), nil},
		"responses": {resp, respS, `{"id":"r","object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],` + respUsage + `}`,
			[]string{upstream.Event(`{"type":"response.output_text.delta","sequence_number":1,"delta":"hi"}`), upstream.Event(`{"type":"response.completed","sequence_number":2,"response":{"id":"r","status":"completed","output":[{}],` + respUsage + `}}`)},
			tokensOf(20000, 16000, -1, 900, 32), nil},
		"messages": {msg, msgS, `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{` + msgIn + `,"output_tokens":20}}`,
			[]string{upstream.Named("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{`+msgIn+`,"output_tokens":1}}}`) +
				upstream.Named("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`),
				upstream.Named("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}`), upstream.Named("message_stop", `{"type":"message_stop"}`)},
			tokensOf(10007, 9000, 1000, 20, -1), &early},
		"gemini": {gem, gemS, gemPart("hi", `,"finishReason":"STOP"`) + `"usageMetadata":{"promptTokenCount":1200,"cachedContentTokenCount":1000,"candidatesTokenCount":4,"thoughtsTokenCount":50,"toolUsePromptTokenCount":6,"totalTokenCount":1260}}`,
			[]string{upstream.Event(gemPart("h", "") + `"usageMetadata":{"promptTokenCount":1200,"cachedContentTokenCount":1000,"candidatesTokenCount":2,"totalTokenCount":1202}}`),
				upstream.Event(gemPart("i", `,"finishReason":"STOP"`) + `"usageMetadata":{"promptTokenCount":1200,"cachedContentTokenCount":1000,"candidatesTokenCount":4,"thoughtsTokenCount":50,"toolUsePromptTokenCount":6,"totalTokenCount":1260}}`)},
			tokensOf(1206, 1000, -1, 54, 50), &gemEarly},
		"gemini array": {call{method: "POST", path: "/v1beta/models/m1:streamGenerateContent", body: gem.body}, call{},
			`[` + gemPart("h", "") + `"usageMetadata":{"promptTokenCount":1200,"candidatesTokenCount":2}},` + gemPart("i", `,"finishReason":"STOP"`) + `"usageMetadata":{"promptTokenCount":1200,"cachedContentTokenCount":0,"candidatesTokenCount":4}}]`,
			nil, tokensOf(1200, 0, -1, 4, -1), nil},
		"embeddings": {emb, call{}, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":8,"total_tokens":8}}`, nil, tokensOf(8, -1, -1, -1, -1), nil},
	}
}

// Test_B100_B101: what the ledger has is what the upstream told, in one meaning
// for all dialects: input holds what came from caches and went into them.
func Test_B100_B101_usage_is_the_upstreams_on_every_surface(t *testing.T) {
	for name, s := range surfaces() {
		for _, coding := range []string{"", "gzip", "br"} {
			t.Run(name+"_plain_"+coding, func(t *testing.T) {
				w := start(t)
				a := upstream.JSON(200, s.body)
				if coding != "" {
					a = upstream.Whole(200, "application/json", pack(coding, s.body), "Content-Encoding: "+coding)
				}
				w.up.Script("a", a)
				w.do(s.plain.with("Accept-Encoding", coding)).want(t, 200)
				w.wantUsage(s.want)
			})
			if s.events == nil {
				continue
			}
			t.Run(name+"_stream_"+coding, func(t *testing.T) {
				w := start(t)
				a := upstream.Stream(upstream.Chunks(s.events)...)
				if coding != "" {
					a = upstream.StreamWith(200, "text/event-stream", []string{"Content-Encoding: " + coding}, packEach(coding, s.events)...)
				}
				w.up.Script("a", a)
				w.do(s.stream.with("Accept-Encoding", coding)).want(t, 200)
				w.wantUsage(s.want)
			})
		}
	}
}

// wantUsage wants one outcome that tells exactly this, and sums that say the same.
func (w *world) wantUsage(want events.Usage) {
	w.t.Helper()
	w.finished(1)
	out := w.outcomes()
	if len(out) != 1 {
		w.t.Fatalf("outcomes %v, want one", w.classes())
	}
	if got := usageOf(out[0]); got == nil || *got != want {
		w.t.Fatalf("usage %+v, want %+v", got, want)
	}
	s := w.usage()
	for _, kind := range []struct {
		sum  usage.Tokens
		want events.OptInt
	}{{s.Input, want.Input}, {s.CachedInput, want.CachedInput}, {s.CacheWrite, want.CacheWrite}, {s.Output, want.Output}, {s.Reasoning, want.Reasoning}} {
		if kind.sum.N != kind.want.V || kind.sum.IsZero() == kind.want.Set {
			w.t.Errorf("sum %+v, want %+v", s, want)
		}
	}
}

// usage is the sum over everything so far.
func (w *world) usage() usage.Sum {
	w.t.Helper()
	sums, err := inquiry.Usage(w.t.Context(), w.log, inquiry.Moment{}, inquiry.UsageOf{By: usage.Client})
	if err != nil || len(sums) != 1 {
		w.t.Fatalf("%+v, %v", sums, err)
	}
	return sums[0]
}

// A client that leaves, and an upstream that breaks off, leave what was told by
// then, and where nothing was, an attempt that may be billed.
func Test_B022_a_stream_that_ends_early_keeps_what_it_told(t *testing.T) {
	for name, s := range surfaces() {
		if s.events == nil {
			continue
		}
		for how, last := range map[string]upstream.Step{"left": upstream.Hang, "broke": upstream.Reset} {
			t.Run(name+"_"+how, func(t *testing.T) {
				w := start(t)
				seen := make(chan struct{})
				w.up.Script("a", upstream.Stream(upstream.Raw(s.events[0]), upstream.Await(seen), last))
				l := w.open(s.stream)
				l.until(s.events[0])
				if how == "left" {
					l.leave()
				}
				close(seen)
				w.finished(1)
				out := w.outcomes()
				got, sum := usageOf(out[0]), w.usage()
				switch {
				case len(out) != 1:
					t.Fatalf("outcomes %v", w.classes())
				case s.early == nil:
					if got != nil || sum.Billed != 1 || sum.Unknown+sum.Partial != 0 || !sum.Input.IsZero() {
						t.Errorf("usage %+v, sum %+v: want none, possibly billed", got, sum)
					}
				default:
					want := *s.early
					want.Partial = true
					if got == nil || *got != want || sum.Partial != 1 || sum.Billed+sum.Unknown != 0 || sum.Input.N != want.Input.V {
						t.Errorf("usage %+v, sum %+v: want %+v", got, sum, want)
					}
				}
			})
		}
	}
}

// What counts tokens, and what was made and paid before, costs nothing.
func Test_B106_an_operation_that_uses_no_tokens_counts_none(t *testing.T) {
	w := start(t)
	made := surfaces()["responses"]
	w.up.When(func(h *upstream.Hit) bool { return h.Method == http.MethodGet }, upstream.JSON(200, made.body))
	w.up.Script("a", upstream.JSON(200, made.body))
	w.do(resp).want(t, 200)
	for range 3 {
		w.do(call{method: "GET", path: "/v1/responses/r"}).want(t, 200)
	}
	w.finished(4)
	if n := len(w.outcomes()); n != 4 {
		t.Fatalf("%d outcomes", n)
	}
	s := w.usage()
	if s.Served != 4 || s.Input.N != 20000 || s.Output.N != 900 || s.Unknown != 0 {
		t.Errorf("%+v: want the tokens of the one answer that was made", s)
	}
}
