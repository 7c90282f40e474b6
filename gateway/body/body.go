// Package body holds the bytes of one request so that they can be sent more
// than once, and looks into compressed bytes. It decodes what the client
// compressed, keeps little in memory and the rest in a file that has no name.
// It knows nothing of what the bytes mean.
package body

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Errors of Read. Anything else that it returns is the reader's own error (the
// client left), the sink's, or the disk's.
var (
	ErrTooLarge = errors.New("body is larger than allowed") // 413
	ErrCoding   = errors.New("unknown content coding")      // 415
	ErrCorrupt  = errors.New("compressed body is corrupt")  // 400
)

// Limits bound a body.
type Limits struct {
	Max    int64  // decoded bytes
	Memory int64  // decoded bytes kept in memory before a file is used; DefaultMemory when 0
	Expect int64  // the Content-Length, 0 or less when unknown: a hint that saves copies
	Dir    string // of the file, "" for the system's
}

// DefaultMemory is how many bytes of a body are kept in memory.
const DefaultMemory = 1 << 20

// The first buffer for a body of unknown length, and the most that a stated
// length alone makes us set aside.
const (
	firstRead    = 4 << 10
	maxFirstRead = 64 << 10
)

// Body is a whole request body, decoded. It can be opened any number of times,
// also at once.
type Body struct {
	mem  []byte
	file *os.File // holds all bytes once they outgrew memory
	size int64
}

// Read reads a body to its end, decodes it by its Content-Encoding header (""
// too: zstd and gzip are known by their first bytes) and writes every decoded
// byte to sink, whose error ends it. On an error nothing is left behind.
func Read(r io.Reader, encoding string, l Limits, sink io.Writer) (*Body, error) {
	if l.Memory <= 0 {
		l.Memory = DefaultMemory
	}
	src := &source{r: r, left: l.Max}
	plain, err := src.decoded(encoding)
	if err != nil {
		return nil, err
	}
	b := &Body{}
	if err := b.fill(plain, l, sink, src); err != nil {
		_ = b.Close() // the first error is the one that counts
		return nil, err
	}
	return b, nil
}

// fill reads plain to its end.
func (b *Body) fill(plain io.Reader, l Limits, sink io.Writer, src *source) error {
	size := int64(firstRead)
	if l.Expect > 0 && !src.coded {
		size = min(l.Expect+1, maxFirstRead) // one byte more, to see the end without growing
	}
	buf := make([]byte, 0, min(size, l.Memory+1))
	for {
		n, err := plain.Read(buf[len(buf):cap(buf)])
		piece := buf[len(buf) : len(buf)+n]
		buf = buf[:len(buf)+n]
		if b.size += int64(n); b.size > l.Max {
			return ErrTooLarge
		}
		if n > 0 {
			if _, err := sink.Write(piece); err != nil {
				return err
			}
		}
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return src.reason(err)
		}
		if buf, err = b.room(buf, l, end); err != nil || end {
			return err
		}
	}
}

// room makes room for more, in memory or by moving what there is to the file.
// At the end it settles where the body is.
func (b *Body) room(buf []byte, l Limits, end bool) ([]byte, error) {
	if b.file != nil || int64(len(buf)) > l.Memory || l.Expect > l.Memory {
		if err := b.spool(buf, l.Dir); err != nil {
			return nil, err
		}
		if buf = buf[:0]; cap(buf) > 2*maxFirstRead {
			buf = make([]byte, 0, maxFirstRead) // from here on memory only passes bytes on
		}
		return buf, nil
	}
	switch {
	case end:
		b.mem = buf
		return nil, nil
	case len(buf) < cap(buf):
		return buf, nil
	}
	grown := make([]byte, len(buf), min(int64(4*cap(buf)), l.Memory+1))
	copy(grown, buf)
	return grown, nil
}

// spool appends bytes to the file. Its name is removed at once, so that nothing
// of a prompt is left on the disk, also after a crash.
func (b *Body) spool(p []byte, dir string) error {
	if b.file == nil {
		f, err := os.CreateTemp(dir, "waybill-body-*")
		if err != nil {
			return fmt.Errorf("spool body: %w", err)
		}
		if b.file = f; os.Remove(f.Name()) != nil {
			return fmt.Errorf("spool body: unlink %s", f.Name())
		}
	}
	if _, err := b.file.Write(p); err != nil {
		return fmt.Errorf("spool body: %w", err)
	}
	return nil
}

// Close gives the memory or the file back. A reader of a spooled body that is
// still open fails from then on.
func (b *Body) Close() error {
	b.mem = nil
	if b.file != nil {
		return b.file.Close()
	}
	return nil
}
