package dialect

import (
	"bytes"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect/jsonscan"
)

// Streams whose frames name their type: OpenAI's Responses, and the smaller
// ones of images, speech and transcripts.
var typed = newTyped()

type typedFields struct {
	err, kind, sequence, id int
	status, reason, outputs int
	item                    int
	content                 []int // with content these make any event an answer
	usage, rootUsage        usageFields
}

var (
	responsesProtocol = &protocol{dialect: events.DialectOpenAI, shape: typed.shape, errorAt: typed.fields.err, quick: quickResponse, judge: judgeResponse}
	mediaProtocol     = &protocol{dialect: events.DialectOpenAI, shape: typed.shape, errorAt: typed.fields.err, judge: judgeMedia}
)

func newTyped() (t struct {
	shape  *jsonscan.Shape
	fields typedFields
}) {
	var b builder
	f := &t.fields
	f.err = b.failure()
	f.kind = b.keep(root, "type", keepWord)
	f.sequence = b.keep(root, "sequence_number", keepNumber)
	response := b.add(root, "response")
	f.id = b.keep(response, "id", keepID)
	f.status = b.keep(response, "status", keepWord)
	f.outputs = b.add(response, "output")
	f.reason = b.keep(b.add(response, "incomplete_details"), "reason", keepWord)
	f.usage = b.usage(response, "usage", openAICounts[:])
	f.rootUsage = b.usage(root, "usage", openAICounts[:])
	item := b.add(root, "item")
	f.item = b.keep(item, "type", keepWord)
	for _, name := range []string{"content", "summary", "encrypted_content"} {
		f.content = append(f.content, b.add(item, name))
	}
	for _, name := range []string{"delta", "text", "arguments", "audio", "transcript", "refusal", "b64_json", "url", "code", "partial_image_b64"} {
		f.content = append(f.content, b.add(root, name))
	}
	t.shape = b.shape()
	return t
}

// quickResponse passes over the deltas of a stream that has content already.
// Both spellings of the separator are known; anything else is read in full.
func quickResponse(f *frames, data []byte) bool {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"response.output_text.delta",`))
	if !ok {
		return false
	}
	rest, ok = bytes.CutPrefix(rest, []byte(`"sequence_number":`))
	if !ok {
		return false
	}
	var n int64
	for i, c := range rest {
		if c-'0' > 9 || i > 17 {
			break
		}
		n = n*10 + int64(c-'0')
	}
	f.seen.Sequence = n
	return true
}

func judgeResponse(f *frames, name []byte) {
	t := &typed.fields
	kind := f.json.String(t.kind)
	if kind == "" {
		kind = string(name)
	}
	if n, ok := f.json.Int(t.sequence); ok {
		f.seen.Sequence = n
	}
	if id := f.json.String(t.id); id != "" {
		f.seen.ResponseID = id
	}
	f.tokens.take(&f.json, &t.usage)
	switch kind {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		judgeEnded(f, kind)
	case "error":
		f.failed()
	default:
		if carries(&f.json, kind) {
			f.meaningful()
		}
	}
}

// judgeEnded reads the event that ends a response.
func judgeEnded(f *frames, kind string) {
	t := &typed.fields
	if kind == "response.failed" && !f.stored {
		f.failed()
		f.seen.Over = true
		return
	}
	reason := f.json.String(t.reason)
	f.seen.Stop, f.seen.Refused = reason, reason == "content_filter"
	// Completed without any output, said or used, is no answer (B064).
	if f.stored || kind != "response.completed" || f.json.Full(t.outputs) || !f.tokens.none() {
		f.meaningful()
	}
	f.terminal(kind)
}

// carries says that an event of a Responses stream is part of an answer, not
// of its preamble.
func carries(s *jsonscan.Scanner, kind string) bool {
	t := &typed.fields
	switch kind {
	case "response.created", "response.in_progress", "response.queued",
		"response.content_part.added", "response.reasoning_summary_part.added":
		return false
	case "response.output_item.added", "response.output_item.done":
		// A message or a reasoning item opens empty; any other item is a call.
		if item := s.String(t.item); item == "message" || item == "reasoning" || item == "" {
			return fullAny(s, t.content)
		}
		return true
	}
	if !strings.HasPrefix(kind, "response.") {
		return false // pings, codex.rate_limits
	}
	if strings.HasSuffix(kind, ".delta") || strings.HasSuffix(kind, ".done") {
		return fullAny(s, t.content)
	}
	return true
}

// judgeMedia reads the streams of images, speech and transcripts: a frame with
// content, and a last one whose type ends in completed or done.
func judgeMedia(f *frames, name []byte) {
	t := &typed.fields
	kind := f.json.String(t.kind)
	if kind == "" {
		kind = string(name)
	}
	f.tokens.take(&f.json, &t.rootUsage)
	if kind == "error" {
		f.failed()
		return
	}
	if fullAny(&f.json, t.content) {
		f.meaningful()
	}
	if strings.HasSuffix(kind, ".completed") || kind == "speech.audio.done" || kind == "transcript.text.done" {
		// An image stream may complete more than one image, a transcript may be
		// of silence: the end of the body says that it was all.
		f.finished(kind, false)
	}
}
