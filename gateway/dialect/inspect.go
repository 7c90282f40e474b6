package dialect

import (
	"bytes"
	"strings"

	"github.com/waybill/waybill/events"
)

// Inspect is the inspector of an answer to this operation: form is the one
// asked for (Request.Form), contentType the answer's, which decides where the
// two differ. Feed it decoded bytes.
func (o *Operation) Inspect(form Form, contentType string) Inspector {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case media == "text/event-stream":
		return o.inspectSSE()
	case media == "text/html" || media == "application/xhtml+xml":
		return &opaque{seen: Seen{Malformed: MalformedHTML}}
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return o.inspectJSON(form)
	case form == Binary && media != "" && !strings.HasPrefix(media, "text/"), form == Text && strings.HasPrefix(media, "text/"):
		return &opaque{text: form == Text}
	}
	return &sniffer{op: o, form: form}
}

func (o *Operation) inspectSSE() Inspector {
	switch o.Dialect {
	case events.DialectAnthropic:
		return newFrames(messagesProtocol)
	case events.DialectGemini:
		return newFrames(contentProtocol)
	}
	switch o.kind {
	case kindResponse, kindStored:
		f := newFrames(responsesProtocol)
		f.stored = o.kind == kindStored
		return f
	case kindImages, kindSpeech, kindTranscript:
		return newFrames(mediaProtocol)
	}
	return newFrames(chatProtocol)
}

func (o *Operation) inspectJSON(form Form) Inspector {
	switch {
	case form == Array:
		return &sniffer{op: o, form: form} // an error may come as an object
	case o.Dialect == events.DialectAnthropic:
		return newPlain(o.kind, plainAnthropic)
	case o.Dialect == events.DialectGemini:
		return newPlain(o.kind, plainGemini)
	case o.kind == kindSpeech:
		return newPlain(kindAny, plainOpenAI)
	}
	return newPlain(o.kind, plainOpenAI)
}

// sniffer waits for the first byte of an answer whose media type says nothing.
type sniffer struct {
	op   *Operation
	form Form
	held []byte
	next Inspector
	seen Seen
}

func (s *sniffer) Feed(p []byte) {
	if s.next != nil {
		s.next.Feed(p)
		return
	}
	s.held = append(s.held, p...)
	start := bytes.TrimLeft(s.held, " \t\r\n\xef\xbb\xbf")
	if len(start) == 0 && len(s.held) < HoldBody {
		return
	}
	s.next = s.choose(start)
	s.next.Feed(s.held)
	s.held = nil
}

func (s *sniffer) choose(start []byte) Inspector {
	switch {
	case len(start) > 0 && start[0] == '{' && s.form != Binary:
		form := s.form
		if form == Array {
			form = JSON // an object where an array was asked for
		}
		return s.op.inspectJSON(form)
	case len(start) > 0 && start[0] == '<':
		return &opaque{seen: Seen{Malformed: MalformedHTML}}
	case s.form == SSE:
		return s.op.inspectSSE()
	case s.form == Binary || s.form == Text:
		return &opaque{text: s.form == Text}
	case s.form == Array:
		return newArray(contentProtocol)
	}
	return s.op.inspectJSON(s.form)
}

func (s *sniffer) End(err error) {
	if s.next == nil {
		s.seen.Malformed, s.seen.Safe = MalformedEmpty, int64(len(s.held))
		return
	}
	s.next.End(err)
}

func (s *sniffer) Seen() *Seen {
	if s.next == nil {
		return &s.seen
	}
	return s.next.Seen()
}

// opaque watches an answer whose bytes say nothing to us: any byte is content,
// but text that begins as a page does.
type opaque struct {
	seen Seen
	text bool
	head []byte // the first bytes of a text, until they can be told from a page
}

func (o *opaque) Feed(p []byte) {
	o.seen.Safe += int64(len(p))
	if o.text && !o.seen.Meaningful && o.seen.Malformed == "" {
		o.head = append(o.head, p[:min(len(p), 64)]...)
		var open bool
		if o.seen.Malformed, open = pageStart(o.head); open {
			return
		}
	}
	o.seen.Meaningful = o.seen.Safe > 0 && o.seen.Malformed == ""
}

func (o *opaque) End(err error) {
	switch {
	case o.seen.Malformed != "":
	case o.seen.Safe == 0:
		o.seen.Malformed = MalformedEmpty
	case err != nil:
		o.seen.Malformed = MalformedTruncated
	default:
		o.seen.Meaningful, o.seen.Terminal, o.seen.Over = true, "body", true
	}
}

func (o *opaque) Seen() *Seen { return &o.seen }

// pageStart says whether text begins as an HTML page, or may still turn out to.
func pageStart(p []byte) (malformed string, open bool) {
	p = bytes.ToLower(bytes.TrimLeft(p, " \t\r\n"))
	for _, start := range [...]string{"<!doctype html", "<html"} {
		if bytes.HasPrefix(p, []byte(start)) {
			return MalformedHTML, false
		}
		open = open || strings.HasPrefix(start, string(p)) && len(p) > 0
	}
	return "", open
}
