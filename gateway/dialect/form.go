package dialect

import (
	"bytes"
	"mime"
	"strings"
)

// Bounds of a multipart form: a part's header, and a field that is looked at.
const (
	maxPartHeader = 16 << 10
	maxPartValue  = 4 << 10
	maxPadding    = 64 // blanks after a delimiter
)

// form finds the fields of a multipart/form-data body as it passes, files
// skipped, in bounded memory.
type form struct {
	delim  []byte // "\r\n--boundary"
	buf    []byte // bytes not yet judged
	offset int64  // of buf[0] in the body
	state  formState
	name   string // of the field being read, "" for one that is of no interest
	times  int    // fields named model
	model  string
	at     Span
	stream string
	user   string
}

type formState uint8

const (
	inPart formState = iota
	afterDelim
	inHeader
	afterForm
)

// newForm starts as if a line end stood before the body, so that the first
// delimiter is like the others.
func newForm(boundary string) *form {
	return &form{delim: []byte("\r\n--" + boundary), buf: []byte("\r\n"), offset: -2}
}

func (f *form) write(p []byte) *Error {
	if f.state == afterForm {
		return nil // an epilogue
	}
	f.buf = append(f.buf, p...)
	for {
		n, more, err := f.step()
		if err != nil {
			return err
		}
		f.offset += int64(n)
		f.buf = f.buf[:copy(f.buf, f.buf[n:])]
		if !more {
			return nil
		}
	}
}

// step judges what it can: n bytes are done with, and with more it may go on.
func (f *form) step() (n int, more bool, err *Error) {
	switch f.state {
	case inPart:
		return f.part()
	case afterDelim:
		if len(f.buf) < 2 {
			return 0, false, nil
		}
		if f.state = inHeader; string(f.buf[:2]) == "--" {
			f.state = afterForm
			return len(f.buf), false, nil
		}
		return 0, true, nil
	case inHeader:
		return f.header()
	}
	return len(f.buf), false, nil
}

// part looks for the end of the part at hand. A field of interest stays in the
// buffer until then, everything else is dropped as it comes.
func (f *form) part() (int, bool, *Error) {
	end, found := f.delimiter()
	switch {
	case found:
		f.value(f.buf[:end])
		f.state, f.name = afterDelim, ""
		return end + len(f.delim), true, nil
	case f.name == "":
		return end, false, nil
	case end > maxPartValue:
		return 0, false, invalid(f.name, "form field %s is too long", f.name)
	}
	return 0, false, nil
}

// delimiter is where the next one stands; while none is found, how many bytes
// are surely before it. A boundary that goes on in the line is text: another
// form's boundary may begin like this one's.
func (f *form) delimiter() (at int, found bool) {
	for {
		i := bytes.Index(f.buf[at:], f.delim)
		if i < 0 {
			return max(at, len(f.buf)-len(f.delim)+1), false
		}
		at += i
		rest := f.buf[at+len(f.delim):]
		after := bytes.TrimLeft(rest, " \t")
		switch {
		case len(rest)-len(after) > maxPadding:
		case len(after) < 2 && len(rest) <= maxPadding:
			return at, false
		case string(after[:2]) == "\r\n", string(rest[:2]) == "--":
			return at, true
		}
		at += len(f.delim)
	}
}

func (f *form) value(v []byte) {
	switch f.name {
	case "model":
		f.times++
		f.model, f.at = string(v), Span{f.offset, f.offset + int64(len(v))}
	case "stream":
		f.stream = string(v)
	case "user":
		f.user = string(v)
	}
}

func (f *form) header() (int, bool, *Error) {
	end := bytes.Index(f.buf, []byte("\r\n\r\n"))
	if end < 0 {
		if len(f.buf) > maxPartHeader {
			return 0, false, invalid("", "a part of the form has a header of more than %d bytes", maxPartHeader)
		}
		return 0, false, nil
	}
	f.state, f.name = inPart, fieldName(string(f.buf[:end]))
	return end + 4, true, nil
}

// fieldName is the name of a field that is looked at, "" for every other part.
func fieldName(header string) string {
	for _, line := range strings.Split(header, "\r\n") {
		key, value, _ := strings.Cut(line, ":")
		if !strings.EqualFold(strings.TrimSpace(key), "Content-Disposition") {
			continue
		}
		_, params, err := mime.ParseMediaType(value)
		if _, file := params["filename"]; err != nil || file {
			return ""
		}
		switch name := params["name"]; name {
		case "model", "stream", "user":
			return name
		}
	}
	return ""
}

// fromForm is what the fields of a form say.
func (r *Reader) fromForm(q *Request) *Error {
	f := r.form
	switch {
	case f.state != afterForm:
		return invalid("", "the multipart body ends in the middle")
	case f.times > 1:
		return invalid("model", "the form names its model %d times", f.times)
	case f.times == 0 && r.op.Default == "":
		return invalid("model", "you must provide a model parameter")
	case f.times == 0:
		q.Model, q.raw = r.op.Default, true
		r.spans = append(r.spans, Span{})
		q.wrap = [2]string{string(f.delim[2:]) + "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n", "\r\n"}
	default:
		q.Model, q.raw = f.model, true
		r.spans = append(r.spans, f.at)
	}
	q.At, q.Session = r.spans, hint(f.user)
	q.Stream = r.op.Streams == ByMember && f.stream == "true"
	return checkModel(q.Model)
}
