package dialect

import (
	"strings"
	"testing"
)

func Test_B005_an_error_as_the_first_event_is_a_failure_and_no_content(t *testing.T) {
	for name, c := range map[string]struct{ op, text string }{
		"messages_event_error":         {"anthropic.messages", stream(`error|{"type":"error","error":{"type":"overloaded_error","message":"x"}}`)},
		"chat_error":                   {"openai.chat", stream(`{"error":{"code":429,"message":"x"}}`)},
		"chat_event_error_without_key": {"openai.chat", stream(`error|{"message":"x"}`)},
		"chat_error_is_a_string":       {"openai.chat", stream(`{"error":"x"}`)},
		"openrouter_mid_chunk":         {"openai.chat", stream(`{"id":"g","error":{"code":429,"message":"x"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`)},
		"chat_finish_reason_error":     {"openai.chat", stream(`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`)},
		"response_failed":              {"openai.responses", stream(`response.created|{"type":"response.created","response":{"id":"r1"}}`, `response.failed|{"type":"response.failed","sequence_number":1,"response":{"id":"r1","status":"failed","error":{"code":"server_is_overloaded","message":"x"}}}`)},
		"response_flat_error":          {"openai.responses", stream(`error|{"type":"error","code":"server_error","message":"x","param":null,"sequence_number":3}`)},
		"response_nested_error":        {"openai.responses", stream(`{"type":"error","status":429,"error":{"type":"usage_limit_reached"}}`)},
		"gemini_error_frame":           {"gemini.streamGenerateContent", stream(`{"error":{"code":503,"status":"UNAVAILABLE","message":"x"}}`)},
		"gemini_raw_json_lines":        {"gemini.streamGenerateContent", "{\n  \"error\": {\n    \"code\": 503,\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n"},
		"gemini_raw_json_in_an_array":  {"gemini.streamGenerateContent", "[{\n  \"error\": {\n    \"code\": 503\n  }\n}\n]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen(t, op(t, c.op), SSE, c.text, nil)
			if s.Meaningful || s.Failed == nil || s.Terminal != "" || !strings.Contains(string(s.Failed), "{") {
				t.Errorf("%+v failed %q", s, s.Failed)
			}
		})
	}
	t.Run("array_of_an_error", func(t *testing.T) {
		s := seen(t, op(t, "gemini.streamGenerateContent"), Array, `[{"error":{"code":503,"status":"UNAVAILABLE"}}]`, nil)
		if s.Meaningful || s.Failed == nil || s.Terminal != "" {
			t.Errorf("%+v", s)
		}
	})
	t.Run("object_where_an_array_was_asked_for", func(t *testing.T) {
		s := seen(t, op(t, "gemini.streamGenerateContent"), Array, `{"error":{"code":503,"status":"UNAVAILABLE"}}`, nil)
		if s.Meaningful || s.Failed == nil || s.Terminal != "" {
			t.Errorf("%+v", s)
		}
	})
}

func Test_B005_an_error_after_content_is_a_failure_too(t *testing.T) {
	for name, text := range map[string]string{
		"openai.chat":                  stream(`{"error":{"message":"Rate limit reached mid-stream","code":"rate_limit_exceeded"}}`),
		"openai.responses":             stream(`response.failed|{"type":"response.failed","response":{"error":{"code":"x"}}}`),
		"anthropic.messages":           stream(`error|{"type":"error","error":{"type":"overloaded_error"}}`),
		"gemini.streamGenerateContent": "{\n\"error\":{\"code\":503}}\n",
	} {
		s := seen(t, op(t, name), SSE, goodStart[name]+text, nil)
		if !s.Meaningful || s.Failed == nil || s.Terminal != "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func Test_B062_what_comes_before_the_first_token_is_held(t *testing.T) {
	for name, text := range map[string]string{
		"openai.chat":                  ": wait\n\n" + stream(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`, `{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[]},"finish_reason":null}]}`),
		"openai.responses":             stream(`response.created|{"type":"response.created","response":{"id":"r1","output":[]}}`, `response.in_progress|{"type":"response.in_progress","response":{"id":"r1"}}`, `response.queued|{"type":"response.queued"}`, `codex.rate_limits|{"type":"codex.rate_limits","x":{"y":1}}`, `{"type":"response.output_item.added","item":{"type":"message","content":[]}}`, `{"type":"response.content_part.added","part":{"type":"output_text","text":""}}`, `{"type":"response.output_item.added","item":{"type":"reasoning","summary":[]}}`, `{"type":"response.output_text.delta","delta":""}`),
		"anthropic.messages":           stream(`message_start|{"type":"message_start","message":{"content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`, `ping|{"type":"ping"}`, `content_block_start|{"type":"content_block_start","content_block":{"type":"text","text":""}}`, `content_block_start|{"type":"content_block_start","content_block":{"type":"thinking","thinking":"","signature":""}}`, `content_block_delta|{"type":"content_block_delta","delta":{"type":"text_delta","text":""}}`, `content_block_stop|{"type":"content_block_stop"}`),
		"gemini.streamGenerateContent": stream(`{"candidates":[{"content":{"role":"model","parts":[]}}],"usageMetadata":{"promptTokenCount":9}}`, `{"candidates":[{"content":{"role":"model","parts":[{"text":""}]}}]}`, `{}`),
	} {
		if s := seen(t, op(t, name), SSE, text, errCut); s.Meaningful || s.Terminal != "" || s.Malformed != MalformedEmpty {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func Test_B062_the_first_content_of_every_sort_counts(t *testing.T) {
	for text, name := range map[string]string{
		`{"choices":[{"delta":{"content":"x"}}]}`:                                                        "openai.chat",
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}`:                   "openai.chat",
		`{"choices":[{"delta":{"function_call":{"name":"f"}}}]}`:                                         "openai.chat",
		`{"choices":[{"delta":{"reasoning_content":"x"}}]}`:                                              "openai.chat",
		`{"choices":[{"delta":{"reasoning":"x"}}]}`:                                                      "openai.chat",
		`{"choices":[{"delta":{"refusal":"x"}}]}`:                                                        "openai.chat",
		`{"choices":[{"delta":{"audio":{"data":"x"}}}]}`:                                                 "openai.chat",
		`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`:                                    "openai.chat",
		`{"choices":[{"text":"x"}]}`:                                                                     "openai.completions",
		`{"type":"response.output_text.delta","delta":"x"}`:                                              "openai.responses",
		`{"type":"response.output_item.added","item":{"type":"function_call","name":"f"}}`:               "openai.responses",
		`{"type":"response.reasoning_summary_text.delta","delta":"x"}`:                                   "openai.responses",
		`{"type":"response.web_search_call.in_progress","item_id":"x"}`:                                  "openai.responses",
		`{"type":"content_block_start","content_block":{"type":"tool_use","name":"f"}}`:                  "anthropic.messages",
		`{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"x"}}`:         "anthropic.messages",
		`{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"x"}}`:                "anthropic.messages",
		`{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}}`:          "anthropic.messages",
		`{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":2}}`:         "anthropic.messages",
		`{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`:                                          "gemini.streamGenerateContent",
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}`:                         "gemini.streamGenerateContent",
		`{"candidates":[{"content":{"parts":[{"inlineData":{"data":"x"}}]}}]}`:                           "gemini.streamGenerateContent",
		`{"candidates":[{"finishReason":"SAFETY"}]}`:                                                     "gemini.streamGenerateContent",
		`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":1}}`: "gemini.streamGenerateContent",
		`{"type":"speech.audio.delta","audio":"QQ"}`:                                                     "openai.audio.speech",
		`{"type":"transcript.text.delta","delta":"x"}`:                                                   "openai.audio.transcriptions",
		`{"type":"image_generation.partial_image","b64_json":"QQ"}`:                                      "openai.images.generations",
	} {
		in := op(t, name).Inspect(SSE, "text/event-stream; charset=utf-8")
		if in.Feed([]byte("data: " + text + "\n\n")); !in.Seen().Meaningful {
			t.Errorf("%s: %s is not meaningful", name, text)
		}
	}
}

func Test_B064_empty_answers_are_no_success(t *testing.T) {
	for name, c := range map[string]struct {
		op   string
		form Form
		text string
	}{
		"zero_bytes":                {"openai.chat", JSON, ""},
		"no_choices":                {"openai.chat", JSON, `{"choices":[]}`},
		"null_choices":              {"openai.chat", JSON, `{"id":"x","choices":null,"usage":{}}`},
		"white_space":               {"openai.chat", JSON, " \n\n "},
		"empty_object":              {"openai.chat", JSON, `{}`},
		"created_completed_only":    {"openai.responses", SSE, stream(`response.created|{"type":"response.created","response":{"id":"r1"}}`, `response.completed|{"type":"response.completed","response":{"id":"r1","status":"completed","output":[],"usage":null}}`)},
		"only_DONE":                 {"openai.chat", SSE, "data: [DONE]\n\n"},
		"role_and_DONE":             {"openai.chat", SSE, stream(`{"choices":[{"delta":{"role":"assistant"}}]}`, "[DONE]")},
		"empty_stream":              {"openai.chat", SSE, ""},
		"white_space_stream":        {"openai.chat", SSE, "\n\n  \n"},
		"start_and_stop_only":       {"anthropic.messages", SSE, stream(`message_start|{"type":"message_start","message":{"usage":{"input_tokens":1}}}`, `message_stop|{"type":"message_stop"}`)},
		"message_without_content":   {"anthropic.messages", JSON, `{"type":"message","content":[]}`},
		"no_embeddings":             {"openai.embeddings", JSON, `{"object":"list","data":[],"usage":{"prompt_tokens":1}}`},
		"no_images":                 {"openai.images.generations", JSON, `{"created":1,"data":[]}`},
		"no_candidates":             {"gemini.generateContent", JSON, `{"candidates":[],"usageMetadata":{"promptTokenCount":1}}`},
		"candidates_without_a_part": {"gemini.generateContent", JSON, `{"candidates":[{"content":{"parts":[]}}]}`},
		"empty_array":               {"gemini.streamGenerateContent", Array, `[]`},
		"no_array":                  {"gemini.streamGenerateContent", Array, ``},
		"no_audio":                  {"openai.audio.speech", Binary, ``},
	} {
		t.Run(name, func(t *testing.T) {
			if s := seen(t, op(t, c.op), c.form, c.text, nil); s.Meaningful || s.Terminal != "" || s.Malformed != MalformedEmpty {
				t.Errorf("%+v", s)
			}
		})
	}
}

func Test_B064_controls_that_are_answers(t *testing.T) {
	for name, c := range map[string]struct {
		op   string
		form Form
		text string
	}{
		"tool_call_only":                {"openai.chat", JSON, `{"choices":[{"message":{"content":null,"tool_calls":[{}]},"finish_reason":"tool_calls"}]}`},
		"reasoning_only":                {"openai.chat", JSON, `{"choices":[{"message":{"content":"","reasoning_content":"x"}}]}`},
		"content_filter_with_usage":     {"openai.chat", JSON, `{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":3,"completion_tokens":0}}`},
		"tool_call_only_stream":         {"openai.chat", SSE, stream(`{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, `[DONE]`)},
		"reasoning_only_stream":         {"openai.chat", SSE, stream(`{"choices":[{"delta":{"reasoning_content":"x"}}]}`, `[DONE]`)},
		"content_filter_stream":         {"openai.chat", SSE, stream(`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`, `{"choices":[],"usage":{"prompt_tokens":3}}`, `[DONE]`)},
		"embeddings_with_data":          {"openai.embeddings", JSON, `{"data":[{"embedding":[0.1]}]}`},
		"response_completed_with_usage": {"openai.responses", SSE, stream(`response.completed|{"type":"response.completed","response":{"id":"r1","usage":{"input_tokens":2000,"output_tokens":30}}}`)},
		"response_without_output":       {"openai.responses", JSON, `{"id":"resp_syn","object":"response","status":"completed","output":[]}`},
		"response_in_the_background":    {"openai.responses", JSON, `{"id":"r1","object":"response","status":"queued","output":[]}`},
		"stored_response_that_failed":   {"openai.responses.get", JSON, `{"id":"r1","status":"failed","error":{"code":"server_error"}}`},
		"deleted_response":              {"openai.responses.delete", JSON, `{"id":"r1","object":"response","deleted":true}`},
		"refusal":                       {"anthropic.messages", JSON, `{"type":"message","content":[],"stop_reason":"refusal","usage":{"input_tokens":3}}`},
		"tool_use":                      {"anthropic.messages", JSON, `{"type":"message","content":[{"type":"tool_use"}],"stop_reason":"tool_use"}`},
		"count":                         {"anthropic.count_tokens", JSON, `{"input_tokens":0}`},
		"gemini_count":                  {"gemini.countTokens", JSON, `{"totalTokens":0}`},
		"gemini_embedding":              {"gemini.embedContent", JSON, `{"embedding":{"values":[1]}}`},
		"gemini_embeddings":             {"gemini.batchEmbedContents", JSON, `{"embeddings":[{"values":[1]}]}`},
		"blocked_prompt":                {"gemini.generateContent", JSON, `{"promptFeedback":{"blockReason":"SAFETY"}}`},
		"function_call":                 {"gemini.generateContent", JSON, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}`},
		"gemini_array":                  {"gemini.streamGenerateContent", Array, "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n,\r\n{\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1}}\n]\n"},
		"silence":                       {"openai.audio.transcriptions", JSON, `{"text":""}`},
		"silence_as_text":               {"openai.audio.transcriptions", Text, "\n"},
		"speech":                        {"openai.audio.speech", Binary, "\x00\x01"},
		"moderation":                    {"openai.moderations", JSON, `{"results":[{"flagged":false}]}`},
		"padded_with_white_space":       {"openai.chat", JSON, "\n\n   \n{\"choices\":[{}]}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen(t, op(t, c.op), c.form, c.text, nil)
			if !s.Meaningful || s.Terminal == "" || s.Failed != nil || s.Malformed != "" {
				t.Errorf("%+v", s)
			}
		})
	}
}

func Test_B065_pages_and_bodies_that_die_before_they_parse(t *testing.T) {
	page := "<!DOCTYPE html><html><body>login</body></html>"
	for name, c := range map[string]struct {
		op, contentType, text string
		form                  Form
		end                   error
		want                  string
	}{
		"html":                 {"openai.chat", "text/html", page, JSON, nil, MalformedHTML},
		"html_called_json":     {"openai.chat", "application/json", "\n " + page, JSON, nil, MalformedHTML},
		"html_called_a_stream": {"openai.chat", "text/event-stream", page, SSE, nil, MalformedHTML},
		"html_without_a_type":  {"openai.chat", "", page, SSE, nil, MalformedHTML},
		"html_called_an_array": {"gemini.streamGenerateContent", "application/json", page, Array, nil, MalformedHTML},
		"html_for_audio":       {"openai.audio.speech", "text/html; charset=utf-8", page, Binary, nil, MalformedHTML},
		"html_called_text":     {"openai.audio.transcriptions", "text/plain", page, Text, nil, MalformedHTML},
		"cut_by_a_reset":       {"openai.chat", "application/json", `{"choices":[{"message":{"content":"hal`, JSON, errCut, MalformedTruncated},
		"cut_cleanly":          {"openai.chat", "application/json", `{"choices":[{"message":{"content":"hal`, JSON, nil, MalformedTruncated},
		"no_data":              {"openai.embeddings", "application/json", `{"object":"list","data":[]}`, JSON, nil, MalformedEmpty},
		"text_where_json":      {"openai.chat", "text/plain", "upstream connect error", JSON, nil, MalformedNotJSON},
		"two_objects":          {"openai.chat", "application/json", `{"choices":[{}]}{"choices":[{}]}`, JSON, nil, MalformedNotJSON},
		"json_frames_broken":   {"openai.chat", "text/event-stream", "data: {oops\n\n", SSE, nil, MalformedNotJSON},
		"audio_cut":            {"openai.audio.speech", "audio/mpeg", "\x01", Binary, errCut, MalformedTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			for _, next := range []func(int) int{all, bytewise} {
				s := watch(op(t, c.op), c.form, c.contentType, c.text, c.end, next)
				if s.Terminal != "" || s.Failed != nil || s.Malformed != c.want || s.Meaningful && c.form != Binary {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

func Test_B065_errors_inside_a_200_body(t *testing.T) {
	for name, c := range map[string]struct{ op, text string }{
		"openrouter":        {"openai.chat", `{"id":"gen-syn","error":{"code":502,"message":"Upstream error"},"choices":[]}`},
		"minimax":           {"openai.chat", `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`},
		"minimax_with_more": {"openai.chat", `{"choices":[{}],"base_resp":{"status_code":1002,"status_msg":"rate limit"}}`},
		"flat":              {"openai.chat", `{"code":"x","message":"no"}`},
		"detail":            {"openai.responses", `{"detail":"Unauthorized"}`},
		"z.ai":              {"openai.chat", `{"code":500,"msg":"404 NOT_FOUND","success":false}`},
		"failed_response":   {"openai.responses", `{"id":"r1","status":"failed","error":{"code":"server_error"},"output":[]}`},
		"anthropic":         {"anthropic.messages", `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`},
		"gemini":            {"gemini.generateContent", `{"error":{"code":503,"status":"UNAVAILABLE"}}`},
		"embeddings":        {"openai.embeddings", `{"error":{"message":"x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if s := seen(t, op(t, c.op), JSON, c.text, nil); s.Meaningful || s.Terminal != "" || string(s.Failed) != c.text {
				t.Errorf("%+v failed %q", s, s.Failed)
			}
		})
	}
	t.Run("base_resp_zero_is_success", func(t *testing.T) {
		if s := seen(t, op(t, "openai.chat"), JSON, `{"choices":[{}],"base_resp":{"status_code":0}}`, nil); s.Terminal != "body" {
			t.Errorf("%+v", s)
		}
	})
}

func Test_B065_a_body_larger_than_the_hold_streams_and_keeps_little(t *testing.T) {
	o := op(t, "openai.images.generations")
	in := o.Inspect(JSON, "application/json")
	in.Feed([]byte(`{"created":1,"data":[{"b64_json":"`))
	chunk := []byte(strings.Repeat("QUJD", 8<<10))
	for i := range 100 {
		if in.Feed(chunk); in.Seen().Meaningful != (i >= 2) && i != 1 {
			t.Fatalf("chunk %d: %+v", i, in.Seen())
		}
	}
	in.Feed([]byte(`"}],"usage":{"input_tokens":5,"output_tokens":6}}`))
	in.End(nil)
	s := in.Seen()
	if s.Terminal != "body" || s.Usage == nil || s.Usage.Output.V != 6 {
		t.Errorf("%+v", s)
	}
	if p := in.(*plain); cap(p.head) > 2*HoldBody {
		t.Errorf("%d bytes are kept", cap(p.head))
	}
}
