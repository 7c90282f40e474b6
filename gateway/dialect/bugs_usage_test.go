package dialect

import (
	"reflect"
	"testing"

	"github.com/waybill/waybill/events"
)

func wantUsage(t *testing.T, o *Operation, form Form, text string, end error, want *events.Usage) {
	t.Helper()
	if s := seen(t, o, form, text, end); !reflect.DeepEqual(s.Usage, want) {
		t.Errorf("%s: got %+v, want %+v", o.Name, s.Usage, want)
	}
}

func Test_B100_cached_tokens_are_part_of_the_input(t *testing.T) {
	chatUsage := `"usage":{"prompt_tokens":20000,"completion_tokens":900,"total_tokens":20900,"prompt_tokens_details":{"cached_tokens":16000,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":32}}`
	want := usage(20000, 16000, -1, 900, 32)
	wantUsage(t, op(t, "openai.chat"), JSON, `{"choices":[{}],`+chatUsage+`}`, nil, want)
	wantUsage(t, op(t, "openai.chat"), SSE, stream(`{"choices":[{"delta":{"content":"x"}}]}`, `{"choices":[],`+chatUsage+`}`, `[DONE]`), nil, want)
	respUsage := `"usage":{"input_tokens":20000,"input_tokens_details":{"cached_tokens":16000,"cache_write_tokens":5},"output_tokens":900,"output_tokens_details":{"reasoning_tokens":32},"total_tokens":20900}`
	want = usage(20000, 16000, 5, 900, 32)
	wantUsage(t, op(t, "openai.responses"), JSON, `{"id":"r","status":"completed","output":[{}],`+respUsage+`}`, nil, want)
	wantUsage(t, op(t, "openai.responses"), SSE, stream(`{"type":"response.completed","response":{"id":"r",`+respUsage+`}}`), nil, want)
	gem := `"usageMetadata":{"promptTokenCount":1200,"cachedContentTokenCount":1000,"candidatesTokenCount":4,"thoughtsTokenCount":50,"toolUsePromptTokenCount":6,"totalTokenCount":1260}`
	want = usage(1206, 1000, -1, 54, 50)
	candidate := `"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]`
	wantUsage(t, op(t, "gemini.generateContent"), JSON, `{`+candidate+`,`+gem+`}`, nil, want)
	wantUsage(t, op(t, "gemini.streamGenerateContent"), SSE, stream(`{`+candidate+`,`+gem+`}`), nil, want)
	wantUsage(t, op(t, "gemini.streamGenerateContent"), Array, `[{`+candidate+`,`+gem+`}]`, nil, want)
}

func Test_B100_spellings_of_other_providers(t *testing.T) {
	for text, want := range map[string]*events.Usage{
		`{"choices":[{}],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":6,"prompt_cache_miss_tokens":4}}`:                        usage(10, 6, -1, 2, -1), // DeepSeek
		`{"choices":[{}],"usage":{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":6}}`:                                                               usage(10, 6, -1, 2, -1), // Moonshot
		`{"choices":[{"usage":{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":6}}]}`:                                                                usage(10, 6, -1, 2, -1), // Moonshot, in the choice
		`{"choices":[{}],"x_groq":{"id":"r","usage":{"prompt_tokens":10,"completion_tokens":2,"queue_time":0.1}}}`:                                            usage(10, -1, -1, 2, -1),
		`{"choices":[{}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":20,"completion_tokens_details":{"reasoning_tokens":8}}}`:            usage(10, -1, -1, 10, 8), // xAI
		`{"choices":[{}],"usage":{"prompt_tokens":10,"completion_tokens":9,"total_tokens":19,"cost":0.5,"completion_tokens_details":{"reasoning_tokens":8}}}`: usage(10, -1, -1, 9, 8),  // OpenRouter
	} {
		wantUsage(t, op(t, "openai.chat"), JSON, text, nil, want)
	}
}

func Test_B101_anthropic_counts_caches_apart_from_the_input(t *testing.T) {
	u := `"usage":{"input_tokens":7,"cache_read_input_tokens":9000,"cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_1h_input_tokens":600,"ephemeral_5m_input_tokens":400},"output_tokens":20}`
	want := usage(10007, 9000, 1000, 20, -1)
	o := op(t, "anthropic.messages")
	wantUsage(t, o, JSON, `{"type":"message","content":[{}],"stop_reason":"end_turn",`+u+`}`, nil, want)
	wantUsage(t, o, SSE, stream(`{"type":"message_start","message":{`+u+`}}`, `{"type":"content_block_delta","delta":{"text":"x"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}`, `{"type":"message_stop"}`), nil, want)
}

func Test_B101_running_totals_replace_and_are_not_added(t *testing.T) {
	wantUsage(t, op(t, "anthropic.messages"), SSE, stream(`{"type":"message_start","message":{"usage":{"input_tokens":25,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":1}}}`,
		`{"type":"content_block_delta","delta":{"text":"x"}}`, `{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":10,"input_tokens":null}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":30,"output_tokens":15}}`, `{"type":"message_stop"}`), nil, usage(2130, 2000, 100, 15, -1))
}

func Test_B103_zero_null_and_absent_usage_are_three_things(t *testing.T) {
	content, real := `{"choices":[{"delta":{"content":"x"}}],"usage":null}`, `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}`
	o := op(t, "openai.chat")
	wantUsage(t, o, SSE, stream(content, content, real, `[DONE]`), nil, usage(5, -1, -1, 7, -1))
	wantUsage(t, o, SSE, stream(content, real, content, `[DONE]`), nil, usage(5, -1, -1, 7, -1))
	wantUsage(t, o, SSE, stream(content, `{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, `[DONE]`), nil, usage(0, -1, -1, 0, -1))
	wantUsage(t, o, SSE, stream(content, `[DONE]`), nil, nil)
	wantUsage(t, o, SSE, stream(content, `{"choices":[],"usage":{}}`, `[DONE]`), nil, nil)
	wantUsage(t, o, JSON, `{"choices":[{}],"usage":{"prompt_tokens":null,"completion_tokens":"7"}}`, nil, nil)
	wantUsage(t, o, JSON, `{"choices":[{}],"usage":{"prompt_tokens":12.0,"completion_tokens":1e2,"total_tokens":1.5}}`, nil, usage(12, -1, -1, 100, -1))
}

// The same three things in the other dialects: null and {} say nothing and take
// nothing away, an explicit zero is a number, absent stays unknown.
func Test_B103_in_every_dialect(t *testing.T) {
	delta := `{"type":"response.output_text.delta","delta":"x"}`
	done := func(usage string) string {
		return `{"type":"response.completed","response":{"id":"r","output":[{}]` + usage + `}}`
	}
	o := op(t, "openai.responses")
	for usageText, want := range map[string]*events.Usage{``: nil, `,"usage":null`: nil, `,"usage":{}`: nil,
		`,"usage":{"input_tokens":0,"output_tokens":0}`: usage(0, -1, -1, 0, -1), `,"usage":{"input_tokens":5,"input_tokens_details":null,"output_tokens":7}`: usage(5, -1, -1, 7, -1)} {
		wantUsage(t, o, SSE, stream(`{"type":"response.created","response":{"id":"r","usage":null}}`, delta, done(usageText)), nil, want)
		wantUsage(t, o, JSON, `{"id":"r","status":"completed","output":[{}]`+usageText+`}`, nil, want)
	}
	o = op(t, "anthropic.messages")
	block := `{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}`
	for c, want := range map[[2]string]*events.Usage{
		{``, ``}: nil, {`,"usage":null`, `,"usage":null`}: nil, {`,"usage":{}`, `,"usage":{}`}: nil,
		{`,"usage":{"input_tokens":5,"output_tokens":1}`, `,"usage":null`}:                                               usage(5, -1, -1, 1, -1),
		{`,"usage":{"input_tokens":0,"output_tokens":0}`, `,"usage":{"output_tokens":0}`}:                                usage(0, -1, -1, 0, -1),
		{`,"usage":{"input_tokens":5,"cache_read_input_tokens":null,"output_tokens":1}`, `,"usage":{"output_tokens":7}`}: usage(5, -1, -1, 7, -1),
		{`,"usage":{"input_tokens":5,"cache_read_input_tokens":0,"output_tokens":1}`, `,"usage":{"output_tokens":7}`}:    usage(5, 0, -1, 7, -1),
	} {
		wantUsage(t, o, SSE, stream(`{"type":"message_start","message":{"id":"m"`+c[0]+`}}`, block,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"}`+c[1]+`}`, `{"type":"message_stop"}`), nil, want)
	}
	part := func(more string) string {
		return `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]` + more + `}`
	}
	for more, want := range map[string]*events.Usage{``: nil, `,"usageMetadata":null`: nil, `,"usageMetadata":{}`: nil, `,"usageMetadata":{"promptTokenCount":null}`: nil,
		`,"usageMetadata":{"promptTokenCount":0,"candidatesTokenCount":0}`:                           usage(0, -1, -1, 0, -1),
		`,"usageMetadata":{"promptTokenCount":5,"thoughtsTokenCount":3}`:                             usage(5, -1, -1, 3, 3),
		`,"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2,"thoughtsTokenCount":null}`: usage(5, -1, -1, 2, -1)} {
		wantUsage(t, op(t, "gemini.generateContent"), JSON, part(more), nil, want)
		wantUsage(t, op(t, "gemini.streamGenerateContent"), SSE, stream(part(more)), nil, want)
		wantUsage(t, op(t, "gemini.streamGenerateContent"), Array, `[`+part(more)+`]`, nil, want)
	}
	early := `{"candidates":[{"content":{"parts":[{"text":"x"}]}}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2}}`
	for _, last := range []string{``, `,"usageMetadata":null`, `,"usageMetadata":{}`} {
		wantUsage(t, op(t, "gemini.streamGenerateContent"), SSE, stream(early, part(last)), nil, usage(5, -1, -1, 2, -1))
	}
}

func Test_B104_usage_of_every_terminal_event(t *testing.T) {
	o := op(t, "openai.responses")
	for _, kind := range []string{"completed", "incomplete"} {
		wantUsage(t, o, SSE, stream(`{"type":"response.`+kind+`","response":{"id":"r","usage":{"input_tokens":5,"output_tokens":7}}}`), nil, usage(5, -1, -1, 7, -1))
	}
	want := usage(5, -1, -1, 7, -1)
	want.Partial = true // a failed answer broke off
	wantUsage(t, o, SSE, stream(`{"type":"response.failed","response":{"error":{"code":"x"},"usage":{"input_tokens":5,"output_tokens":7}}}`), nil, want)
	wantUsage(t, op(t, "anthropic.messages"), SSE, stream(`{"type":"content_block_delta","delta":{"text":"x"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}`, `{"type":"message_stop"}`), nil, usage(-1, -1, -1, 15, -1))
	wantUsage(t, op(t, "openai.embeddings"), JSON, `{"data":[{}],"usage":{"prompt_tokens":8,"total_tokens":8}}`, nil, usage(8, -1, -1, -1, -1))
}

func Test_B022_usage_seen_before_a_client_left_is_partial(t *testing.T) {
	want := usage(1200, -1, -1, 1, -1)
	want.Partial = true
	wantUsage(t, op(t, "anthropic.messages"), SSE, stream(`message_start|{"type":"message_start","message":{"usage":{"input_tokens":1200,"output_tokens":1}}}`,
		`content_block_delta|{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}`), errCut, want)
}

func TestStopReasonsAndPolicyRefusals(t *testing.T) {
	for text, c := range map[string]struct {
		op      string
		form    Form
		stop    string
		refused bool
	}{
		`{"choices":[{"finish_reason":"stop"}]}`:                                                               {"openai.chat", JSON, "stop", false},
		`{"choices":[{"finish_reason":"content_filter"}]}`:                                                     {"openai.chat", JSON, "content_filter", true},
		`{"type":"message","content":[{}],"stop_reason":"refusal"}`:                                            {"anthropic.messages", JSON, "refusal", true},
		`{"type":"message","content":[{}],"stop_reason":"pause_turn"}`:                                         {"anthropic.messages", JSON, "pause_turn", false},
		`{"candidates":[{"finishReason":"SAFETY"}]}`:                                                           {"gemini.generateContent", JSON, "SAFETY", true},
		`{"promptFeedback":{"blockReason":"OTHER"}}`:                                                           {"gemini.generateContent", JSON, "OTHER", true},
		`[{"candidates":[{"finishReason":"RECITATION"}]}]`:                                                     {"gemini.streamGenerateContent", Array, "RECITATION", true},
		stream(`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, `{"type":"message_stop"}`):        {"anthropic.messages", SSE, "refusal", true},
		stream(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`): {"openai.responses", SSE, "content_filter", true},
		`{"id":"r","status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`:        {"openai.responses", JSON, "content_filter", true},
	} {
		if s := seen(t, op(t, c.op), c.form, text, nil); s.Stop != c.stop || s.Refused != c.refused || s.Terminal == "" {
			t.Errorf("%s: %+v", text, s)
		}
	}
}
