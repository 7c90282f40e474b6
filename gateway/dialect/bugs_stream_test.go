package dialect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect/sse/ssetest"
)

var broke = &Refusal{Status: 502, Code: "upstream_broken", Message: "The upstream ended its answer in the middle.", Request: "req-1"}

// cut runs a stream that dies and gives what the client gets: the released
// bytes and the dialect's end.
func cut(t *testing.T, o *Operation, form Form, text string) (client string, s *Seen) {
	t.Helper()
	s = seen(t, o, form, text, errCut)
	r := *broke
	r.Dialect = o.Dialect
	return text[:s.Safe] + string(BreakOff(o, form, s, &r)), s
}

var goodStart = map[string]string{
	"openai.chat":                  stream(`{"choices":[{"index":0,"delta":{"content":"he"}}]}`),
	"openai.completions":           stream(`{"choices":[{"index":0,"text":"he"}]}`),
	"openai.responses":             stream(`response.created|{"type":"response.created","sequence_number":0,"response":{"id":"r1"}}`, `response.output_text.delta|{"type":"response.output_text.delta","sequence_number":1,"delta":"he"}`),
	"anthropic.messages":           stream(`message_start|{"type":"message_start","message":{"usage":{"input_tokens":9}}}`, `content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"he"}}`),
	"gemini.streamGenerateContent": stream(`{"candidates":[{"content":{"parts":[{"text":"he"}]}}]}`),
}

func Test_B013_terminal_error_after_half_an_event_is_dispatched(t *testing.T) {
	for name, start := range goodStart {
		good := ssetest.Parse(start).Events
		for _, half := range []string{"", "d", "data: {\"choices\":[{\"ind", "event: content_bl", "event: content_block_delta\n", "event: x\ndata: {\"par", ": comm", ": comment\n", "data: {\"candidates\":[]}\n", "data: {\"a\":1}\r", "data: " + strings.Repeat("x", HoldLine+1)} {
			o := op(t, name)
			client, s := cut(t, o, SSE, start+half)
			got := ssetest.Parse(client)
			if got.Rest != nil {
				t.Errorf("%s after %.30q: the end is not dispatched: %.200q", name, half, client)
			}
			if len(got.Events) < len(good)+1 {
				t.Fatalf("%s after %.30q: %d events of %d: %q", name, half, len(got.Events), len(good)+1, client)
			}
			for i := range good {
				if got.Events[i] != good[i] {
					t.Errorf("%s after %.30q: event %d is %q", name, half, i, got.Events[i])
				}
			}
			if whole := strings.HasPrefix(half, "data: {\"a\"") || strings.HasPrefix(half, "data: {\"cand") || len(half) > HoldLine; !whole && len(got.Events) != len(good)+1 {
				t.Errorf("%s after %.30q: the fragment became an event: %q", name, half, got.Events[len(good):])
			}
			last := got.Events[len(got.Events)-1]
			recognisable(t, o, last)
			if s.Terminal != "" || s.Malformed != MalformedTruncated {
				t.Errorf("%s after %.30q: %+v", name, half, s)
			}
			for _, fake := range []string{"[DONE]", "message_stop", "response.completed", "finishReason"} {
				if strings.Contains(client, fake) {
					t.Errorf("%s: a fake success %s in %q", name, fake, client)
				}
			}
		}
	}
}

// recognisable says that official SDKs raise on the event: by its name, or by a
// top-level error.
func recognisable(t *testing.T, o *Operation, e ssetest.Event) {
	t.Helper()
	var v struct {
		Type     string
		Error    struct{ Message, Type, Status string }
		Sequence int64 `json:"sequence_number"`
		Response struct {
			ID, Status string
			Error      struct{ Code, Message string }
		}
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(e.Data), &v); err != nil {
		t.Fatalf("%s: %v in %q", o.Name, err, e)
	}
	ok := strings.HasSuffix(v.Error.Message, "request req-1: waybill why req-1")
	switch {
	case o.Dialect == events.DialectAnthropic:
		ok = ok && e.Name == "error" && v.Type == "error" && v.Error.Type == "api_error" && v.RequestID == "req-1"
	case o.Dialect == events.DialectGemini:
		ok = ok && e.Name == "" && v.Error.Status == "UNAVAILABLE"
	case o.Name == "responses":
		ok = ok && e.Name == "response.failed" && v.Type == "response.failed" && v.Sequence == 2 &&
			v.Response.ID == "r1" && v.Response.Status == "failed" && v.Response.Error.Code == "server_error"
	default:
		ok = ok && e.Name == "" && v.Error.Type == "server_error"
	}
	if !ok {
		t.Errorf("%s: no client recognises %q", o.Name, e)
	}
}

func Test_B014_a_broken_array_ends_in_an_error_element_or_is_cut(t *testing.T) {
	o := op(t, "gemini.streamGenerateContent")
	first := `[{"candidates":[{"content":{"parts":[{"text":"he"}]}}]}`
	for _, half := range []string{"", "\n,\r\n", ",{\"candidates\":[{\"con", ","} {
		client, _ := cut(t, o, Array, first+half)
		var parts []map[string]json.RawMessage
		if err := json.Unmarshal([]byte(client), &parts); err != nil || len(parts) != 2 || parts[1]["error"] == nil {
			t.Errorf("after %q: %v in %q", half, err, client)
		}
	}
	client, _ := cut(t, o, Array, ` [ {"cand`)
	var parts []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(client), &parts); err != nil || len(parts) != 1 || parts[0]["error"] == nil {
		t.Errorf("before the first element: %v in %q", err, client)
	}
	s := seen(t, o, Array, first+`,{"candidates":[{"content":{"parts":[{"text":"`+strings.Repeat("x", HoldLine), errCut)
	if s.Open == InElement && BreakOff(o, Array, s, broke) != nil {
		t.Error("half an element was ended as if it were whole")
	}
	if BreakOff(op(t, "openai.chat"), JSON, &Seen{}, broke) != nil {
		t.Error("half a JSON body was ended as if it were whole")
	}
}

func Test_B014_a_malformed_event_passes_and_the_stream_finishes(t *testing.T) {
	text := goodStart["openai.chat"] + "data: {broken\n\n" + stream(`{"choices":[{"index":0,"delta":{"content":"llo"},"finish_reason":"stop"}]}`, `[DONE]`)
	if s := seen(t, op(t, "openai.chat"), SSE, text, nil); s.Terminal != "[DONE]" || s.Safe != int64(len(text)) {
		t.Errorf("%+v", s)
	}
}

func Test_B016_complete_streams_are_not_misread_as_truncated(t *testing.T) {
	for name, c := range map[string]struct{ op, text, terminal string }{
		"finish_reason_in_the_last_content_chunk_then_EOF": {"openai.chat", stream(`{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":1}}`), "stop"},
		"finish_reason_then_usage_only_chunk_then_EOF":     {"openai.chat", stream(`{"choices":[{"index":0,"delta":{"content":"hi"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, `{"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1}}`), "length"},
		"message_stop":                         {"anthropic.messages", okStreams["anthropic.messages"], "message_stop"},
		"gemini_finishReason_then_EOF":         {"gemini.streamGenerateContent", okStreams["gemini.streamGenerateContent"], "STOP"},
		"no_blank_line_after_the_last_event":   {"openai.chat", strings.TrimRight(okStreams["openai.chat"], "\n"), "[DONE]"},
		"stop_reason_without_message_stop":     {"anthropic.messages", strings.Split(okStreams["anthropic.messages"], "event: message_stop")[0], "end_turn"},
		"content_then_DONE_without_finish":     {"openai.chat", goodStart["openai.chat"] + "data: [DONE]\n\n", "[DONE]"},
		"response_incomplete_by_its_own_limit": {"openai.responses", stream(`response.incomplete|{"type":"response.incomplete","response":{"id":"r1","incomplete_details":{"reason":"max_output_tokens"},"usage":{"output_tokens":9}}}`), "response.incomplete"},
		"transcript_stream_of_silence":         {"openai.audio.transcriptions", stream(`{"type":"transcript.text.done","text":"","usage":{"input_tokens":5}}`), "transcript.text.done"},
		"image_stream":                         {"openai.images.generations", stream(`image_generation.partial_image|{"type":"image_generation.partial_image","b64_json":"QQ"}`, `image_generation.completed|{"type":"image_generation.completed","b64_json":"QQ","usage":{"output_tokens":7}}`), "image_generation.completed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen(t, op(t, c.op), SSE, c.text, nil)
			if s.Terminal != c.terminal || s.Failed != nil || s.Malformed != "" || s.Usage == nil && !strings.Contains(name, "content_then") {
				t.Errorf("%+v", s)
			}
		})
	}
}

func Test_B016_a_stream_that_breaks_before_its_end_is_no_success(t *testing.T) {
	for name, text := range okStreams {
		o := op(t, name)
		for i := range text {
			s := watch(o, SSE, "text/event-stream", text[:i], errCut, all)
			if s.Terminal != "" && s.Terminal != "STOP" {
				t.Fatalf("%s: success after %q", name, text[:i])
			}
			if s.Usage != nil && s.Terminal == "" && !s.Usage.Partial {
				t.Errorf("%s: usage of a broken stream is not partial", name)
			}
		}
	}
}

func Test_B017_usage_behind_a_line_of_megabytes_is_read(t *testing.T) {
	for _, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 1<<20 + 1, 8 << 20} {
		big := strings.Repeat("x", size)
		for name, text := range map[string]string{
			"openai.chat":                  stream(`{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"`+big+`"}}]}}]}`) + okStreams["openai.chat"],
			"openai.responses":             stream(`response.completed|{"type":"response.completed","response":{"id":"r1","output":[{"content":[{"text":"` + big + `"}]}],"usage":{"input_tokens":12,"output_tokens":3}}}`),
			"anthropic.messages":           stream(`content_block_delta|{"type":"content_block_delta","delta":{"partial_json":"`+big+`"}}`) + okStreams["anthropic.messages"],
			"gemini.streamGenerateContent": stream(`{"candidates":[{"content":{"parts":[{"inlineData":{"data":"` + big + `"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":3}}`),
		} {
			in := op(t, name).Inspect(SSE, "text/event-stream")
			for at := 0; at < len(text); at += 32 << 10 {
				in.Feed([]byte(text[at:min(len(text), at+32<<10)]))
			}
			in.End(nil)
			s := in.Seen()
			if s.Terminal == "" || s.Usage == nil || s.Usage.Input.V != 12 || s.Usage.Output.V != 3 || s.Safe != int64(len(text)) {
				t.Errorf("%s with %d bytes: %+v %+v", name, size, s, s.Usage)
			}
		}
	}
}

func Test_B019_every_encoding_of_a_stream_means_the_same(t *testing.T) {
	for name, text := range okStreams {
		want := *seen(t, op(t, name), SSE, text, nil)
		for enc, other := range map[string]string{
			"CRLF": strings.ReplaceAll(text, "\n", "\r\n"), "CR": strings.ReplaceAll(text, "\n", "\r"),
			"no_space": strings.ReplaceAll(strings.ReplaceAll(text, "data: ", "data:"), "event: ", "event:"), "BOM": "\xef\xbb\xbf" + text,
			"two_data_lines": strings.ReplaceAll(text, `data: {`, "data: {\ndata: "),
		} {
			t.Run(name+"_"+enc, func(t *testing.T) {
				got := *seen(t, op(t, name), SSE, other, nil)
				if got.Terminal != want.Terminal || !got.Meaningful || *got.Usage != *want.Usage || got.Safe != int64(len(other)) {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
}

func Test_B020_comments_and_pings_are_no_content(t *testing.T) {
	noise := ": warming\n\n:\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\ndata:\n\n"
	for name, text := range okStreams {
		o := op(t, name)
		if s := seen(t, o, SSE, noise+strings.ReplaceAll(text, "\n\n", "\n\n"+noise), nil); s.Terminal == "" || s.Failed != nil || s.Malformed != "" {
			t.Errorf("%s with comments: %+v", name, s)
		}
		if s := seen(t, o, SSE, noise+noise, nil); s.Meaningful || s.Malformed != MalformedEmpty {
			t.Errorf("%s of comments only: %+v", name, s)
		}
		if in := o.Inspect(SSE, "text/event-stream"); true {
			if in.Feed([]byte(noise)); in.Seen().Meaningful || in.Seen().Safe != int64(len(noise)) {
				t.Errorf("%s: %+v", name, in.Seen())
			}
		}
	}
}

func Test_B071_an_answer_is_over_with_its_terminal_marker(t *testing.T) {
	for name, text := range okStreams {
		in := op(t, name).Inspect(SSE, "text/event-stream")
		in.Feed([]byte(text))
		if s := in.Seen(); s.Over != (name != "gemini.streamGenerateContent") || s.Over && s.Terminal == "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func Test_B076_chunks_without_choices_are_read(t *testing.T) {
	text := stream(`{"choices":[],"prompt_filter_results":[{}]}`, `{"choices":null}`,
		`{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}`,
		`{"choices":[{"index":1,"delta":{},"finish_reason":"stop"},{"index":0,"delta":{},"finish_reason":null}]}`,
		`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, `[DONE]`)
	if s := seen(t, op(t, "openai.chat"), SSE, text, nil); s.Terminal != "[DONE]" || s.Usage == nil || s.Usage.Output.V != 2 {
		t.Errorf("%+v", s)
	}
}
