package dialect

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
)

// op finds an operation by its dialect and name, "openai.chat".
func op(t testing.TB, name string) *Operation {
	t.Helper()
	for _, o := range Operations() {
		if o.Dialect.String()+"."+o.Name == name {
			return o
		}
	}
	t.Fatalf("no operation %s", name)
	return nil
}

var errCut = errors.New("connection reset")

// watch feeds an answer in pieces and ends it.
func watch(o *Operation, form Form, contentType, text string, end error, next func(left int) int) *Seen {
	in := o.Inspect(form, contentType)
	for b := []byte(text); len(b) > 0; {
		n := next(len(b))
		chunk := append([]byte(nil), b[:n]...)
		in.Feed(chunk)
		clear(chunk) // the relay's buffer is used again
		b = b[n:]
	}
	in.End(end)
	return in.Seen()
}

func all(left int) int { return left }
func bytewise(int) int { return 1 }
func media(f Form) string {
	return map[Form]string{JSON: "application/json", Array: "application/json", SSE: "text/event-stream", Binary: "audio/mpeg", Text: "text/plain"}[f]
}

// seen watches an answer whole, byte by byte and in random pieces, and fails
// when that makes a difference.
func seen(t *testing.T, o *Operation, form Form, text string, end error) *Seen {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(len(text))))
	want := watch(o, form, media(form), text, end, all)
	for name, next := range map[string]func(int) int{"bytes": bytewise, "random": func(left int) int { return 1 + r.IntN(left) }} {
		if got := watch(o, form, media(form), text, end, next); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, whole %+v", name, got, want)
		}
	}
	return want
}

func stream(frames ...string) string {
	var b strings.Builder
	for _, f := range frames {
		if name, data, ok := strings.Cut(f, "|"); ok {
			b.WriteString("event: " + name + "\n")
			f = data
		}
		b.WriteString("data: " + f + "\n\n")
	}
	return b.String()
}

func usage(input, cached, written, output, reasoning int64) *events.Usage {
	opt := func(v int64) events.OptInt {
		if v < 0 {
			return events.OptInt{}
		}
		return events.Int(v)
	}
	return &events.Usage{Input: opt(input), CachedInput: opt(cached), CacheWrite: opt(written), Output: opt(output), Reasoning: opt(reasoning)}
}

// ok streams: each dialect's good answer, with usage and its terminal.
var okStreams = map[string]string{
	"openai.chat": stream(`{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
		`{"id":"c1","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}],"usage":null}`,
		`{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		`{"id":"c1","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}`, `[DONE]`),
	"openai.responses": stream(`response.created|{"type":"response.created","sequence_number":0,"response":{"id":"r1","status":"in_progress"}}`,
		`response.output_item.added|{"type":"response.output_item.added","sequence_number":1,"item":{"type":"message","content":[]}}`,
		`response.output_text.delta|{"type":"response.output_text.delta","sequence_number":2,"delta":"Hel"}`,
		`response.output_text.delta|{"type":"response.output_text.delta","sequence_number":3,"delta":"lo"}`,
		`response.completed|{"type":"response.completed","sequence_number":9,"response":{"id":"r1","status":"completed","usage":{"input_tokens":12,"input_tokens_details":{"cached_tokens":4},"output_tokens":3}}}`),
	"anthropic.messages": stream(`message_start|{"type":"message_start","message":{"id":"m1","content":[],"usage":{"input_tokens":12,"output_tokens":1}}}`,
		`content_block_start|{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `ping|{"type":"ping"}`,
		`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}`,
		`content_block_stop|{"type":"content_block_stop","index":0}`,
		`message_delta|{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`, `message_stop|{"type":"message_stop"}`),
	"gemini.streamGenerateContent": stream(`{"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"},"index":0}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"lo"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":2,"thoughtsTokenCount":1}}`),
}

func TestGoodStreamsSucceedWithUsage(t *testing.T) {
	for name, want := range map[string]Seen{
		"openai.chat":                  {Terminal: "[DONE]", Over: true, Stop: "stop", Usage: usage(12, -1, -1, 3, -1)},
		"openai.responses":             {Terminal: "response.completed", Over: true, Usage: usage(12, 4, -1, 3, -1), ResponseID: "r1", Sequence: 9},
		"anthropic.messages":           {Terminal: "message_stop", Over: true, Stop: "end_turn", Usage: usage(12, -1, -1, 3, -1)},
		"gemini.streamGenerateContent": {Terminal: "STOP", Stop: "STOP", Usage: usage(12, -1, -1, 3, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			want.Meaningful, want.Safe = true, int64(len(okStreams[name]))
			if got := seen(t, op(t, name), SSE, okStreams[name], nil); !reflect.DeepEqual(got, &want) {
				t.Errorf("got %+v %+v\nwant %+v %+v", got, got.Usage, want, want.Usage)
			}
		})
	}
}
