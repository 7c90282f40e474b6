// Package archive writes a ledger, or a part of it, as canonical JSON Lines and
// reads it back into another ledger byte for byte. The chain is checked on the
// way out and on the way in: what cannot be chained is neither written nor
// taken. Old segments leave a store for files of that form (Run), and are read
// there as if they were live (Over). It must not know a driver, nor what an
// event means.
package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

var (
	// ErrFork says that the archive and the ledger hold different events at a position.
	ErrFork = errors.New("the archive and the ledger differ")
	// ErrGap says that the archive begins beyond where the ledger ends.
	ErrGap = errors.New("events between the ledger and the archive are missing")
	// ErrEmpty says that an archive holds no event.
	ErrEmpty = errors.New("the archive holds no event")
	// ErrForm says that a line is not as an export writes it.
	ErrForm = errors.New("it is not the canonical form of its event: a member is unknown, doubled or misplaced")
)

const (
	batchRows = 1000
	maxLine   = 16 << 20
)

// Progress is told positions now and then.
type Progress func(events.Position)

// Span is what was written or read.
type Span struct {
	From, To events.Position // 0, 0: nothing
	Head     ledger.Head     // of To
	Known    uint64          // read, and there already
}

// Write writes the rows from one position to another (0: the first, the head)
// as JSON Lines. A *ledger.Fault in the error says where the chain is broken.
func Write(ctx context.Context, s ledger.Store, from, to events.Position, w io.Writer, p Progress) (Span, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return Span{}, err
	}
	from = max(from, 1)
	if to == 0 {
		to = head.Position
	}
	if to > head.Position {
		return Span{}, fmt.Errorf("export to %d: the ledger ends at %d", to, head.Position)
	}
	if from > to+1 {
		return Span{}, fmt.Errorf("export from %d: the ledger ends at %d", from, to)
	}
	if from > to {
		return Span{}, nil
	}
	return write(ctx, s, from, to, w, p)
}

func write(ctx context.Context, s ledger.Store, from, to events.Position, w io.Writer, p Progress) (Span, error) {
	if from > 1 { // the row before is read for its hash
		before, err := headAt(ctx, s, from-1)
		if err != nil {
			return Span{}, fmt.Errorf("export: %w", err)
		}
		return writeAfter(ctx, s, before, to, w, p)
	}
	return writeAfter(ctx, s, ledger.Head{}, to, w, p)
}

// headAt is the place of one position.
func headAt(ctx context.Context, s ledger.Store, at events.Position) (h ledger.Head, err error) {
	if g, ok := ledger.Part[ledger.Segmented](s); ok {
		l, err := g.Layout(ctx, 0)
		if err != nil {
			return h, err
		}
		for i := range l.Archived {
			if l.Archived[i].End.Position == at {
				return l.Archived[i].End, nil
			}
		}
	}
	err = s.Scan(ctx, at-1, ledger.Filter{UpTo: at}, 1, func(r *ledger.Row) error {
		h = ledger.Head{Position: r.Position, Hash: r.Hash, RecordedAt: r.RecordedAt}
		return nil
	})
	if err == nil && h.Position != at {
		err = &ledger.Fault{Position: at, Kind: ledger.FaultGap, Detail: "the event is missing"}
	}
	return h, err
}

// writeAfter writes the rows behind a head.
func writeAfter(ctx context.Context, s ledger.Store, before ledger.Head, to events.Position, w io.Writer, p Progress) (Span, error) {
	check := ledger.NewChecker(before)
	b := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	err := s.Scan(ctx, before.Position, ledger.Filter{UpTo: to}, 0, func(r *ledger.Row) error {
		if f := check.Next(r, r.ContentHash()); f != nil {
			return f
		}
		line = append(events.AppendRecordJSON(line[:0], &r.Record, r.Position, r.RecordedAt, r.Hash), '\n')
		if p != nil && (r.Position%4096 == 0 || r.Position == to) {
			p(r.Position)
		}
		_, err := b.Write(line)
		return err
	})
	if err == nil {
		err = b.Flush()
	}
	if last := check.Last(); err == nil && last.Position != to {
		err = &ledger.Fault{Position: last.Position + 1, Kind: ledger.FaultGap, Detail: "the rows end before the head"}
	}
	if err != nil {
		return Span{}, fmt.Errorf("export: %w", err)
	}
	return Span{From: before.Position + 1, To: to, Head: check.Last()}, nil
}

// Compress wraps a writer; Close ends the frame.
func Compress(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(2))
}

// zstdMagic begins every zstd frame.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Open reads plain or compressed archives.
func Open(r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if head, err := b.Peek(len(zstdMagic)); err != nil || !bytes.Equal(head, zstdMagic) {
		return io.NopCloser(b), nil
	}
	d, err := zstd.NewReader(b, zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}
