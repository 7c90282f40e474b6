package body

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// maxLayers is how many codings may lie on one another.
const maxLayers = 3

// zstdWindow is the window that a decoder of the content coding zstd must
// support and need not exceed (RFC 9659).
const zstdWindow = 8 << 20

// Known says that every coding of a Content-Encoding header can be decoded.
func Known(encoding string) bool {
	_, err := layers(encoding)
	return err == nil
}

// layers are the codings of a header in the order in which they are undone,
// identity left out.
func layers(encoding string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(encoding, ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "", "identity":
		case "x-gzip":
			names = append(names, "gzip")
		case "gzip", "deflate", "zstd", "br":
			names = append(names, name)
		default:
			return nil, ErrCoding
		}
	}
	if len(names) > maxLayers {
		return nil, ErrCoding
	}
	slices.Reverse(names)
	return names, nil
}

// decoder undoes one coding. Codings that need their first bytes to begin are
// begun by the first Read.
func decoder(name string, r io.Reader) io.Reader {
	switch name {
	case "br":
		return brotli.NewReader(r)
	case "zstd":
		return &lazy{r: r, open: openZstd}
	case "gzip":
		return &lazy{r: r, open: func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }}
	}
	return &lazy{r: r, open: openDeflate}
}

// lazy is a decoder that is made when it is first read.
type lazy struct {
	r    io.Reader
	open func(io.Reader) (io.Reader, error)
	in   io.Reader
}

func (l *lazy) Read(p []byte) (int, error) {
	if l.in == nil {
		in, err := l.open(l.r)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // no bytes are no compressed body
		}
		if err != nil {
			return 0, err
		}
		l.in = in
	}
	return l.in.Read(p)
}

// openZstd makes a decoder that reads no further than it must and starts no
// goroutine.
func openZstd(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if _, err := b.Peek(1); err != nil {
		return nil, err // its Read would take no bytes for a complete body
	}
	return zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
}

// openDeflate knows both things that are called deflate: zlib (RFC 1950), which
// is the right one, and raw (RFC 1951).
func openDeflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0F == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// source is a client's body on its way through the decoders.
type source struct {
	r     io.Reader
	left  int64 // raw bytes that may still come
	err   error // what the client's body itself ended with
	coded bool
	head  [4]byte // first bytes, read ahead
	ahead []byte  // what is left of them
}

// Read reads raw bytes; more than the limit is too large in any coding.
func (s *source) Read(p []byte) (int, error) {
	skip := copy(p, s.ahead)
	s.ahead = s.ahead[skip:]
	if s.err != nil || skip == len(p) {
		return skip, s.err
	}
	n, err := s.read(p[skip:])
	return skip + n, err
}

func (s *source) read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.left -= int64(n); s.left < 0 {
		err = ErrTooLarge
	}
	s.err = err
	return n, err
}

// decoded is the reader of plain bytes.
func (s *source) decoded(encoding string) (io.Reader, error) {
	names, err := layers(encoding)
	if err != nil {
		return nil, err
	}
	var r io.Reader = s
	limit := s.left
	if len(names) == 0 {
		names = s.sniff()
	}
	for _, name := range names {
		s.coded = true
		r = &layer{r: decoder(name, r), left: limit}
	}
	return r, nil
}

var (
	zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}
	gzipMagic = []byte{0x1F, 0x8B, 0x08}
)

// sniff knows a compressed body whose header does not say so (B031). No JSON
// and no form begins like one.
func (s *source) sniff() []string {
	n := 0
	for n < len(s.head) && s.err == nil {
		m, _ := s.read(s.head[n:]) // an error comes again when the rest is read
		n += m
	}
	s.ahead = s.head[:n]
	switch {
	case bytes.Equal(s.ahead, zstdMagic):
		return []string{"zstd"}
	case bytes.HasPrefix(s.ahead, gzipMagic):
		return []string{"gzip"}
	}
	return nil
}

// reason tells a client that left from a body that cannot be decoded.
func (s *source) reason(err error) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		return ErrTooLarge
	case s.err != nil && !errors.Is(s.err, io.EOF):
		return s.err
	case s.coded:
		return ErrCorrupt
	}
	return err
}

// layer bounds what one decoder puts out, so that no layer of a bomb costs more
// than the limit.
type layer struct {
	r    io.Reader
	left int64
}

func (l *layer) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, ErrTooLarge
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}
