package body

import (
	"io"
	"iter"
)

// Tee looks into compressed bytes as they pass.
type Tee struct {
	sink   func(p []byte)
	in     []byte // raw bytes that the decoder has not read
	closed bool
	ended  bool  // the compressed stream is complete
	err    error // of the decoder
	told   bool
	resume func() (struct{}, bool)
	stop   func()
}

// teeBuffer is how many decoded bytes the sink gets at a time.
const teeBuffer = 16 << 10

// NewTee gives a decoder for a response's Content-Encoding: raw bytes are
// written in as they pass, and sink gets all that can be decoded of them before
// Write returns. "" and identity hand the bytes on. ErrCoding: we cannot look
// into this one. Close must be called.
func NewTee(encoding string, sink func(p []byte)) (*Tee, error) {
	names, err := layers(encoding)
	if err != nil {
		return nil, err
	}
	t := &Tee{sink: sink}
	if len(names) == 0 {
		return t, nil
	}
	// A decoder pulls, a relay pushes: the decoder runs as a coroutine that
	// gives control back whenever it wants bytes that have not come.
	t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) { t.decode(names, yield) })
	return t, nil
}

func (t *Tee) decode(names []string, yield func(struct{}) bool) {
	var r io.Reader = &feed{tee: t, yield: yield}
	for _, name := range names {
		r = decoder(name, r)
	}
	buf := make([]byte, teeBuffer)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			t.sink(buf[:n])
		}
		if err != nil {
			t.ended = err == io.EOF
			t.err = err
			return
		}
	}
}

// feed is the decoder's end of a Tee.
type feed struct {
	tee   *Tee
	yield func(struct{}) bool
}

func (f *feed) Read(p []byte) (int, error) {
	for len(f.tee.in) == 0 {
		if f.tee.closed || !f.yield(struct{}{}) {
			return 0, io.EOF
		}
	}
	n := copy(p, f.tee.in)
	f.tee.in = f.tee.in[n:]
	return n, nil
}

// Write decodes the next raw bytes. It returns ErrCorrupt once, with the first
// bytes that cannot be decoded; the sink gets nothing from then on.
func (t *Tee) Write(p []byte) (int, error) {
	if t.resume == nil {
		t.sink(p)
		return len(p), nil
	}
	if t.err == nil {
		t.in = p
		t.resume()
		t.in = nil
	}
	if t.err != nil && !t.ended && !t.told {
		t.told = true
		return len(p), ErrCorrupt
	}
	return len(p), nil
}

// Close ends it; nil means that the compressed stream was complete.
func (t *Tee) Close() error {
	if t.resume == nil {
		return nil
	}
	if t.closed = true; t.err == nil {
		t.resume()
	}
	t.stop()
	if !t.ended {
		return ErrCorrupt
	}
	return nil
}
