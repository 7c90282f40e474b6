package body

import (
	"errors"
	"io"
)

// Edit replaces a range of a body's bytes; From = To inserts. Edits stand in
// ascending order and do not overlap.
type Edit struct {
	From, To int64
	With     []byte
}

// Len is the length with the edits made: the Content-Length of an attempt.
func (b *Body) Len(edits ...Edit) int64 {
	n := b.size
	for _, e := range edits {
		n += int64(len(e.With)) - (e.To - e.From)
	}
	return n
}

// Open reads the body from its beginning with the edits made. Each reader has
// its own place; closing it does not close the body.
func (b *Body) Open(edits ...Edit) io.ReadSeekCloser {
	r := &reader{body: b}
	at := int64(0)
	for _, e := range edits {
		r.add(piece{from: at, to: e.From})
		r.add(piece{text: e.With, to: int64(len(e.With))})
		at = e.To
	}
	r.add(piece{from: at, to: b.size})
	r.size = b.Len(edits...)
	return r
}

// piece is a range of the body's bytes, or of text when that is set.
type piece struct {
	text     []byte
	from, to int64
}

// reader reads pieces one after the other.
type reader struct {
	body   *Body
	pieces []piece
	one    [3]piece // backs pieces for at most one edit
	size   int64
	pos    int64
}

func (r *reader) add(p piece) {
	if r.pieces == nil {
		r.pieces = r.one[:0]
	}
	if p.to > p.from {
		r.pieces = append(r.pieces, p)
	}
}

// Read reads on from the reader's place.
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	at := r.pos
	for _, part := range r.pieces {
		if size := part.to - part.from; at >= size {
			at -= size
			continue
		}
		n, err := r.read(p, part, at)
		r.pos += int64(n)
		return n, err
	}
	return 0, io.EOF
}

// read reads from a piece at an offset inside it.
func (r *reader) read(p []byte, part piece, at int64) (int, error) {
	from := part.from + at
	if max := part.to - from; int64(len(p)) > max {
		p = p[:max]
	}
	switch {
	case part.text != nil:
		return copy(p, part.text[from:]), nil
	case r.body.file == nil:
		return copy(p, r.body.mem[from:]), nil
	}
	n, err := r.body.file.ReadAt(p, from)
	if n > 0 || err == io.EOF {
		err = nil
	}
	return n, err
}

// Seek moves the reader's place.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek body: before its beginning")
	}
	r.pos = offset
	return offset, nil
}

// Close does nothing: the body is closed by its owner.
func (r *reader) Close() error { return nil }
