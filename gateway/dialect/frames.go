package dialect

import (
	"bytes"
	"errors"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect/jsonscan"
	"github.com/waybill/waybill/gateway/dialect/sse"
)

// protocol is how the frames of one kind of stream are read.
type protocol struct {
	dialect events.Dialect
	shape   *jsonscan.Shape
	errorAt int // the field of a top-level error
	// quick recognises a frame that changes nothing once content was seen,
	// without reading its JSON. nil: none.
	quick func(f *frames, data []byte) bool
	// judge reads a scanned frame; name is its event name.
	judge func(f *frames, name []byte)
}

// frames inspects a stream of JSON frames: SSE events or elements of an array.
type frames struct {
	seen   Seen
	proto  *protocol
	split  sse.Scanner
	json   jsonscan.Scanner
	tokens tokens
	usage  events.Usage // as told by seen

	frame   []byte // the frame at hand, nil when it came in pieces
	partial bool   // a frame is coming in pieces
	broken  bool   // some frame was no JSON object
	finish  string // finish reason seen: complete at a clean end (B016)
	accept  bool   // also complete at a broken end (Gemini has no other marker)
	stored  bool   // the stream replays a stored response: its failure is its content
	stray   []byte // lines outside events, from the first brace on
	like    like
}

func newFrames(p *protocol) *frames { return &frames{proto: p} }

// Seen is what the stream amounts to so far.
func (f *frames) Seen() *Seen { return &f.seen }

// Feed examines the next bytes.
func (f *frames) Feed(p []byte) {
	f.split.Feed(p, f)
	f.settle()
}

func (f *frames) settle() {
	f.seen.Safe = f.split.Safe()
	switch {
	case f.split.InLine():
		f.seen.Open = InLine
	case f.split.Pending() && f.split.BareCR():
		f.seen.Open = AfterCR
	case f.split.Pending():
		f.seen.Open = InEvent
	default:
		f.seen.Open = Closed
	}
}

// Event takes a frame.
func (f *frames) Event(name, data []byte) {
	if f.seen.Over || f.seen.Malformed != "" {
		return
	}
	if data == nil {
		f.frame, f.partial = nil, false
		f.conclude(name)
		return
	}
	if f.seen.Meaningful && f.proto.quick != nil && f.proto.quick(f, data) {
		return
	}
	if f.done(data) {
		return
	}
	f.json.Reset(f.proto.shape)
	f.json.Feed(data)
	f.frame = data
	f.conclude(name)
}

// Piece takes a part of a frame that is too long to be held in one piece.
func (f *frames) Piece(p []byte) {
	if !f.partial {
		f.partial = true
		f.json.Reset(f.proto.shape)
	}
	f.json.Feed(p)
}

// Stray takes a line outside any event: an error that forgot to be one, or a
// page that is no stream at all.
func (f *frames) Stray(line []byte) {
	trimmed := bytes.TrimSpace(line)
	switch {
	case f.seen.Over || len(trimmed) == 0:
		return
	case len(f.stray) == 0 && trimmed[0] == '<' && !f.seen.Meaningful:
		f.seen.Malformed = MalformedHTML
		return
	case len(f.stray) == 0 && trimmed[0] != '{' && trimmed[0] != '[', len(f.stray)+len(line) > keepError:
		return
	}
	f.stray = append(append(f.stray, line...), '\n')
	f.json.Reset(f.proto.shape)
	f.json.Feed(bytes.TrimLeft(f.stray, "[ \t\r\n"))
	if f.json.Done() {
		f.frame = bytes.TrimSpace(f.stray)
		f.fail()
		f.stray = f.stray[:0]
	}
}

// done takes OpenAI's end marker, which is no JSON.
func (f *frames) done(data []byte) bool {
	if len(data) == 0 || data[0] != '[' || string(bytes.TrimSpace(data)) != "[DONE]" {
		return false
	}
	if f.proto.dialect == events.DialectOpenAI {
		f.seen.Over = true
		if f.tokens.output.V > 0 {
			f.seen.Meaningful = true
		}
		if f.seen.Meaningful && f.seen.Failed == nil {
			f.seen.Terminal = "[DONE]"
		}
	}
	return true
}

// conclude judges the scanned frame.
func (f *frames) conclude(name []byte) {
	if fault := f.json.Close(); fault != jsonscan.FaultNone {
		f.broken = f.broken || fault != jsonscan.FaultEmpty
		return
	}
	if f.fail() {
		return
	}
	f.proto.judge(f, name)
	if f.tokens.fresh {
		f.count()
	}
}

// count tells the usage so far: an answer may break off, or be given up, at any
// frame.
func (f *frames) count() {
	f.tokens.fresh = false
	f.tokens.usage(f.proto.dialect, &f.usage)
	f.usage.Partial = f.seen.Terminal == ""
	f.seen.Usage = &f.usage
}

// fail notes a frame with an error at its top level.
func (f *frames) fail() bool {
	if !f.json.Full(f.proto.errorAt) {
		return false
	}
	f.failed()
	return true
}

// failed notes the frame at hand as the stream's failure. The first one counts.
func (f *frames) failed() {
	switch {
	case f.seen.Failed != nil:
	case f.frame != nil && len(f.frame) <= 2*keepError:
		f.seen.Failed = bytes.Clone(f.frame)
	default:
		text := f.json.Text(f.proto.errorAt)
		if text == nil {
			text = []byte(`{}`)
		}
		f.seen.Failed = append(append([]byte(`{"error":`), text...), '}')
	}
}

// meaningful notes content.
func (f *frames) meaningful() { f.seen.Meaningful = true }

// finished notes a finish reason: the answer is complete but for what trails it.
func (f *frames) finished(reason string, refused bool) {
	f.meaningful()
	f.finish = reason
	f.seen.Stop, f.seen.Refused = reason, refused
}

// terminal notes the protocol's terminal success.
func (f *frames) terminal(word string) {
	f.seen.Over = true
	if f.seen.Meaningful && f.seen.Failed == nil {
		f.seen.Terminal = word
	}
}

// ErrBroken stands for any reason why a body did not end cleanly.
var ErrBroken = errors.New("body broke off")

// End gives the verdict on the whole.
func (f *frames) End(err error) {
	if err == nil {
		f.split.Finish(f)
		f.settle()
		f.seen.Open = Closed
	}
	f.verdict(err)
}

func (f *frames) verdict(err error) {
	if f.seen.Terminal == "" && f.seen.Failed == nil && f.finish != "" && (err == nil || f.accept) {
		f.seen.Terminal = f.finish
	}
	if f.seen.Terminal == "" && f.seen.Failed == nil && f.seen.Malformed == "" {
		f.seen.Malformed = f.malformed()
	}
	if !f.tokens.none() {
		f.count()
	}
}

// malformed says why a stream without a terminal success is no answer.
func (f *frames) malformed() string {
	switch {
	case f.seen.Meaningful:
		return MalformedTruncated
	case f.broken:
		return MalformedNotJSON
	}
	return MalformedEmpty
}
