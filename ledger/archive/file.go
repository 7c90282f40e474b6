package archive

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/durable"
)

// frameRows is how many events a frame holds: what is read for one of them.
const frameRows = 8192

// frameWindow is how far back the compression of a frame looks, and what a
// reader of one must hold.
const frameWindow = 1 << 20

// file is an archive being written.
type file struct {
	store    ledger.Store
	dir      string
	manifest Manifest
	out      *os.File
	sum      interface {
		io.Writer
		Sum([]byte) []byte
	}
	at int64
	p  Progress
}

// Write counts and hashes on the way.
func (f *file) Write(b []byte) (int, error) {
	n, err := f.out.Write(b)
	f.at += int64(n)
	_, _ = f.sum.Write(b[:n]) // a hash takes everything
	return n, err
}

// create writes the events behind a head up to a position into a new archive
// with its manifest. Both are durable when it returns, or neither is there.
func create(ctx context.Context, s ledger.Store, id uuid.UUID, before ledger.Head, to events.Position, dir string, note func(ledger.Head) (string, error), p Progress) (m Manifest, digest events.Hash, err error) {
	end, err := headAt(ctx, s, to)
	if err != nil {
		return m, digest, err
	}
	f := &file{store: s, dir: dir, sum: sha256.New(), p: p, manifest: Manifest{
		Format: manifestFormat, Ledger: id, First: before.Position + 1, Last: to, Events: uint64(to - before.Position), Before: before.Hash,
		LastHash: end.Hash, Ended: end.RecordedAt,
		File: fmt.Sprintf("ledger-%012d-%012d-%x.jsonl.zst", before.Position+1, to, end.Hash[:4]),
	}}
	if note != nil {
		if f.manifest.Checkpoint, err = note(end); err != nil {
			return m, digest, err
		}
	}
	err = durable.Replace(filepath.Join(dir, f.manifest.File), archiveMode, func(out *os.File) error {
		f.out = out
		return f.frames(ctx, before)
	})
	if err != nil {
		return m, digest, fmt.Errorf("write archive: %w", err)
	}
	f.manifest.Bytes = f.at
	f.sum.Sum(f.manifest.SHA256[:0])
	if digest, err = f.manifest.write(dir); err != nil {
		return m, digest, fmt.Errorf("write manifest: %w", err)
	}
	return f.manifest, digest, nil
}

// frames writes the lines, a frame at a time.
func (f *file) frames(ctx context.Context, before ledger.Head) error {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(frameWindow))
	if err != nil {
		return err
	}
	for before.Position < f.manifest.Last {
		first, err := headAt(ctx, f.store, before.Position+1)
		if err != nil {
			return err
		}
		if len(f.manifest.Frames) == 0 {
			f.manifest.FirstHash, f.manifest.Started = first.Hash, first.RecordedAt
		}
		f.manifest.Frames = append(f.manifest.Frames, Frame{First: first.Position, Offset: f.at, Before: before.Hash, Started: first.RecordedAt})
		z.Reset(f)
		span, err := writeAfter(ctx, f.store, before, min(before.Position+frameRows, f.manifest.Last), z, f.p)
		if err != nil {
			_ = z.Close() // the export's error says why
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		before = span.Head
	}
	return nil
}
