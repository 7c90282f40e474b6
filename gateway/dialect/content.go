package dialect

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect/jsonscan"
)

// Gemini's GenerateContentResponse: each frame is whole, there is no end marker
// but a finishReason.
var content = newContent()

type contentFields struct {
	err        int
	parts      []int
	finish     int
	candidates int
	blocked    int
	usage      usageFields
	counts     []int // of plain answers: any of these is one
}

var contentProtocol = &protocol{dialect: events.DialectGemini, shape: content.shape, errorAt: content.fields.err, judge: judgeContent}

func newContent() (c struct {
	shape  *jsonscan.Shape
	fields contentFields
}) {
	var b builder
	f := &c.fields
	f.err = b.failure()
	f.candidates = b.add(root, "candidates")
	candidate := b.add(f.candidates, jsonscan.Each)
	f.finish = b.keep(candidate, "finishReason", keepWord)
	part := b.add(b.add(b.add(candidate, "content"), "parts"), jsonscan.Each)
	for _, name := range []string{"text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "thoughtSignature"} {
		f.parts = append(f.parts, b.add(part, name))
	}
	f.blocked = b.keep(b.add(root, "promptFeedback"), "blockReason", keepWord)
	f.usage = b.usage(root, "usageMetadata", geminiCounts[:])
	for _, name := range []string{"totalTokens", "embedding", "embeddings", "models"} {
		f.counts = append(f.counts, b.add(root, name))
	}
	c.shape = b.shape()
	return c
}

func judgeContent(f *frames, _ []byte) {
	c := &content.fields
	f.accept = true
	f.tokens.take(&f.json, &c.usage)
	if fullAny(&f.json, c.parts) {
		f.meaningful()
	}
	if reason := f.json.String(c.blocked); reason != "" {
		f.finished(reason, true)
	}
	if reason := f.json.String(c.finish); reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
		f.finished(reason, refusal(reason))
	}
}

// refusal knows the finish reasons that are Google's content policy.
func refusal(reason string) bool {
	switch reason {
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return true
	}
	return false
}
