package upstream

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Step is one act of a stream.
type Step func(x *Exchange) error

// Raw writes s in one write as a chunk of the body.
func Raw(s string) Step {
	return func(x *Exchange) error { return x.Write(chunk(s)) }
}

// Bytes writes s as it is, outside of the chunked coding.
func Bytes(s string) Step { return func(x *Exchange) error { return x.Write(s) } }

// Wait pauses.
func Wait(d time.Duration) Step { return func(x *Exchange) error { return x.Pause(d) } }

// Await waits for the test's signal.
func Await(ch <-chan struct{}) Step { return func(x *Exchange) error { return x.Await(ch) } }

// Signal tells the test that the stream has come this far.
func Signal(ch chan<- struct{}) Step {
	return func(*Exchange) error {
		close(ch)
		return nil
	}
}

// Finish ends a chunked body and keeps the connection alive.
func Finish(x *Exchange) error {
	x.finished = true
	return x.Write("0\r\n\r\n")
}

// Trailer ends a chunked body with a trailer line and keeps the connection alive.
func Trailer(line string) Step {
	return func(x *Exchange) error {
		x.finished = true
		return x.Write("0\r\n" + line + "\r\n\r\n")
	}
}

// Cut closes the connection without ending the body.
func Cut(x *Exchange) error {
	x.End()
	return nil
}

// Reset aborts the connection.
func Reset(x *Exchange) error { return x.Reset() }

// Hang keeps the connection open and silent.
func Hang(x *Exchange) error { return x.Hang() }

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// JSON is a whole answer with a Content-Length. Headers are "Name: value".
func JSON(status int, body string, headers ...string) Answer {
	return Whole(status, "application/json", body, headers...)
}

// Whole is a whole answer of any type.
func Whole(status int, contentType, body string, headers ...string) Answer {
	return func(x *Exchange) error {
		return x.Write(head(status, append([]string{"Content-Type: " + contentType, fmt.Sprintf("Content-Length: %d", len(body))}, headers...)) + body)
	}
}

// Stream is a 200 event stream in chunked coding. Without a last step that
// ends it (Finish, Cut, Reset, Hang) it is finished and kept alive.
func Stream(steps ...Step) Answer { return StreamWith(200, "text/event-stream", nil, steps...) }

// StreamWith is a chunked answer of any status and type.
func StreamWith(status int, contentType string, headers []string, steps ...Step) Answer {
	return func(x *Exchange) error {
		h := append([]string{"Content-Type: " + contentType, "Transfer-Encoding: chunked"}, headers...)
		if err := x.Write(head(status, h)); err != nil {
			return err
		}
		return run(x, steps)
	}
}

// Steps is an answer made of raw steps, head included.
func Steps(steps ...Step) Answer {
	return func(x *Exchange) error {
		x.End()
		return run(x, steps)
	}
}

func run(x *Exchange, steps []Step) error {
	x.finished = false
	for _, st := range steps {
		if err := st(x); err != nil {
			return err
		}
	}
	if !x.ended && !x.finished {
		return Finish(x)
	}
	return nil
}

func head(status int, headers []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}

// Event is one SSE event with data only.
func Event(data string) string { return "data: " + data + "\n\n" }

// Named is one SSE event with a name.
func Named(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// Bodies of well-formed answers; n is told by the text.
const (
	ChatBody = `{"id":"c1","object":"chat.completion","created":1,"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`
	RespBody = `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m1","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hello","annotations":[]}]}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":10}}`
	MsgBody  = `{"id":"msg_1","type":"message","role":"assistant","model":"m1","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}`
	GemBody  = `{"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1,"totalTokenCount":10},"modelVersion":"m1"}`
	EmbBody  = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2]}],"model":"m1","usage":{"prompt_tokens":9,"total_tokens":9}}`
)

// Events of well-formed streams.
var (
	ChatEvents = []string{
		Event(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`),
		Event(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{"content":"hel"},"finish_reason":null}]}`),
		Event(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}`),
		Event(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
		Event(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}`),
		Event(`[DONE]`),
	}
	MsgEvents = []string{
		Named("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}`),
		Named("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
		Named("ping", `{"type":"ping"}`),
		Named("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hel"}}`),
		Named("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`),
		Named("content_block_stop", `{"type":"content_block_stop","index":0}`),
		Named("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`),
		Named("message_stop", `{"type":"message_stop"}`),
	}
	RespEvents = []string{
		Named("response.created", `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","model":"m1","output":[]}}`),
		Named("response.output_item.added", `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}`),
		Named("response.content_part.added", `{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}`),
		Named("response.output_text.delta", `{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"hello"}`),
		Named("response.output_text.done", `{"type":"response.output_text.done","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"text":"hello"}`),
		Named("response.completed", `{"type":"response.completed","sequence_number":5,"response":`+RespBody+`}`),
	}
	GemEvents = []string{
		Event(`{"candidates":[{"content":{"role":"model","parts":[{"text":"hel"}]},"index":0}],"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9},"modelVersion":"m1"}`),
		Event(`{"candidates":[{"content":{"role":"model","parts":[{"text":"lo"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2,"totalTokenCount":11},"modelVersion":"m1"}`),
	}
)

// Chunks turns events into steps, one write each.
func Chunks(events []string) []Step {
	out := make([]Step, len(events))
	for i, e := range events {
		out[i] = Raw(e)
	}
	return out
}

// Good answers a request of any dialect and kind well, by its path and body.
func Good(x *Exchange) error {
	target, body := x.Hit.Target, string(x.Hit.Body)
	stream := strings.Contains(strings.ReplaceAll(body, " ", ""), `"stream":true`)
	pick := func(whole string, events []string) Answer {
		if stream {
			return Stream(Chunks(events)...)
		}
		return JSON(200, whole)
	}
	switch {
	case strings.Contains(target, ":streamGenerateContent"):
		return Stream(Chunks(GemEvents)...)(x)
	case strings.Contains(target, ":generateContent"):
		return JSON(200, GemBody)(x)
	case strings.HasSuffix(target, "/messages"):
		return pick(MsgBody, MsgEvents)(x)
	case strings.HasSuffix(target, "/count_tokens"):
		return JSON(200, `{"input_tokens":9}`)(x)
	case strings.HasSuffix(target, ":countTokens"):
		return JSON(200, `{"totalTokens":9}`)(x)
	case strings.HasSuffix(target, "/responses"):
		return pick(RespBody, RespEvents)(x)
	case strings.HasSuffix(target, "/embeddings"):
		return JSON(200, EmbBody)(x)
	case strings.HasSuffix(target, "/models"):
		return JSON(200, `{"object":"list","data":[{"id":"m1","object":"model","created":1,"owned_by":"x"}]}`)(x)
	default:
		return pick(ChatBody, ChatEvents)(x)
	}
}
