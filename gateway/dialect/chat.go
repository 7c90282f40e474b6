package dialect

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect/jsonscan"
)

// OpenAI's chat and completions: choices with deltas, finish_reason, [DONE].
var chat = newChat()

type chatFields struct {
	err      int
	content  []int // any of these with content is an answer
	text     []int // strings of which a stream is made, piece by piece
	finish   int
	usage    usageFields
	choiceUs usageFields // Moonshot: inside the choice
	groq     usageFields // Groq: x_groq.usage
}

var chatProtocol = &protocol{dialect: events.DialectOpenAI, shape: chat.shape, errorAt: chat.fields.err, quick: sameButText, judge: judgeChat}

func newChat() (c struct {
	shape  *jsonscan.Shape
	fields chatFields
}) {
	var b builder
	f := &c.fields
	f.err = b.failure()
	choices := b.add(root, "choices")
	choice := b.add(choices, jsonscan.Each)
	f.finish = b.keep(choice, "finish_reason", keepWord)
	delta := b.add(choice, "delta")
	for _, name := range []string{"content", "tool_calls", "function_call", "reasoning_content", "reasoning", "reasoning_details", "refusal", "audio", "images", "annotations"} {
		f.content = append(f.content, b.add(delta, name))
	}
	f.content = append(f.content, b.add(choice, "text"))
	tool := b.add(b.add(f.content[1], jsonscan.Each), "function")
	f.text = append(f.text, f.content[0], f.content[3], b.add(tool, "arguments"))
	f.usage = b.usage(root, "usage", openAICounts[:])
	f.choiceUs = b.usage(choice, "usage", openAICounts[:])
	f.groq = b.usage(b.add(root, "x_groq"), "usage", openAICounts[:])
	c.shape = b.shape()
	return c
}

func judgeChat(f *frames, name []byte) {
	c := &chat.fields
	if string(name) == "error" {
		f.failed()
		return
	}
	f.tokens.take(&f.json, &c.groq)
	f.tokens.take(&f.json, &c.choiceUs)
	f.tokens.take(&f.json, &c.usage)
	if fullAny(&f.json, c.content) {
		f.meaningful()
	}
	if !f.json.Full(c.finish) {
		f.learn(c.text)
		return
	}
	switch reason := f.json.String(c.finish); reason {
	case "": // one of several choices finished
		f.finished("stop", false)
	case "error":
		f.failed()
	default:
		f.finished(reason, reason == "content_filter")
	}
}
