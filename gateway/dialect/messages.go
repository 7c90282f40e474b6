package dialect

import (
	"bytes"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect/jsonscan"
)

// Anthropic's Messages: message_start, content blocks, message_delta,
// message_stop.
var messages = newMessages()

type messageFields struct {
	err, kind   int
	start       usageFields // message.usage of message_start
	usage       usageFields // running totals of message_delta, or of a plain message
	stop        int         // of message_delta
	block       int         // type of a content block that begins
	content     []int
	plainStop   int // of a plain message
	plain       int // content of a plain message
	inputTokens int // of a count
	deltaType   int
}

var messagesProtocol = &protocol{dialect: events.DialectAnthropic, shape: messages.shape, errorAt: messages.fields.err, quick: quickMessage, judge: judgeMessage}

func newMessages() (m struct {
	shape  *jsonscan.Shape
	fields messageFields
}) {
	var b builder
	f := &m.fields
	f.err = b.failure()
	f.kind = b.keep(root, "type", keepWord)
	f.usage = b.usage(root, "usage", anthropicCounts[:])
	f.start = b.usage(b.add(root, "message"), "usage", anthropicCounts[:])
	delta := b.add(root, "delta")
	f.stop = b.keep(delta, "stop_reason", keepWord)
	f.deltaType = b.keep(delta, "type", keepWord)
	for _, name := range []string{"text", "partial_json", "thinking", "signature", "citation", "content"} {
		f.content = append(f.content, b.add(delta, name))
	}
	block := b.add(root, "content_block")
	f.block = b.keep(block, "type", keepWord)
	for _, name := range []string{"text", "thinking"} {
		f.content = append(f.content, b.add(block, name))
	}
	f.plain = b.add(root, "content")
	f.plainStop = b.keep(root, "stop_reason", keepWord)
	f.inputTokens = b.keep(root, "input_tokens", keepNumber)
	m.shape = b.shape()
	return m
}

// quickMessage passes over the deltas of a stream that has content already.
func quickMessage(_ *frames, data []byte) bool {
	return bytes.HasPrefix(data, []byte(`{"type":"content_block_delta",`)) ||
		bytes.HasPrefix(data, []byte(`{"type": "content_block_delta",`))
}

func judgeMessage(f *frames, name []byte) {
	m := &messages.fields
	kind := f.json.String(m.kind)
	if kind == "" {
		kind = string(name)
	}
	f.tokens.take(&f.json, &m.start)
	f.tokens.take(&f.json, &m.usage)
	switch kind {
	case "error":
		f.failed()
	case "content_block_start":
		// A text or thinking block opens empty; any other is a call or a result.
		if b := f.json.String(m.block); b != "text" && b != "thinking" && b != "" || fullAny(&f.json, m.content) {
			f.meaningful()
		}
	case "content_block_delta":
		if fullAny(&f.json, m.content) {
			f.meaningful()
		}
	case "message_delta":
		if reason := f.json.String(m.stop); reason != "" {
			f.finished(reason, reason == "refusal")
		}
	case "message_stop":
		f.terminal("message_stop")
	}
}
