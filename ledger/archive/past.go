package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Past reads events out of archive files. It looks for a file in its
// directories, then where the file was written.
type Past struct {
	dirs []string

	mu    sync.Mutex
	known map[events.Hash]opened // by the digest of the manifest
}

type opened struct {
	Manifest
	path string
}

// NewPast reads archives in these directories, and where they were written.
func NewPast(dirs ...string) *Past { return &Past{dirs: dirs, known: map[events.Hash]opened{}} }

// find opens the archive that a store speaks of.
func (p *Past) find(a *ledger.Archived) (opened, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o, ok := p.known[a.Digest]; ok {
		return o, nil
	}
	var tried []error
	var fault *ledger.Fault
	for _, path := range p.places(a) {
		m, err := readManifest(path, a.Digest)
		if errors.Is(err, errAnother) && fault == nil {
			fault = &ledger.Fault{Position: a.First, Kind: ledger.FaultArchive, Detail: err.Error()}
		}
		if err == nil {
			_, err = os.Stat(path)
		}
		if err == nil {
			p.known[a.Digest] = opened{m, path}
			return p.known[a.Digest], nil
		}
		tried = append(tried, err)
	}
	if fault != nil { // one that is there and wrong is not one that is missing
		return opened{}, fault
	}
	return opened{}, fmt.Errorf("positions %d to %d: %w: %w", a.First, a.End.Position, ledger.ErrArchived, errors.Join(tried...))
}

func (p *Past) places(a *ledger.Archived) (paths []string) {
	for _, dir := range p.dirs {
		paths = append(paths, filepath.Join(dir, filepath.Base(a.Path)))
	}
	return append(paths, a.Path)
}

// Has says whether an archive is at hand; the error says what is missing.
func (p *Past) Has(a *ledger.Archived) error {
	_, err := p.find(a)
	return err
}

// intact holds a whole file against its manifest.
func (p *Past) intact(ctx context.Context, a *ledger.Archived) error {
	o, err := p.find(a)
	if err != nil {
		return err
	}
	f, err := os.Open(o.path)
	if err != nil {
		return err
	}
	defer f.Close()
	return o.intact(ctx, f)
}

// intact reads the file.
func (o *opened) intact(ctx context.Context, f io.Reader) error {
	sum := sha256.New()
	n, err := io.Copy(sum, until{ctx, f})
	if err != nil {
		return err
	}
	if got := events.Hash(sum.Sum(nil)); n != o.Bytes || got != o.SHA256 {
		return &ledger.Fault{Position: o.Last, Kind: ledger.FaultArchive, Detail: fmt.Sprintf(
			"%s has %d bytes with the SHA-256 %s, but %d with %s when it was written, though its events up to here are right", o.path, n, got, o.Bytes, o.SHA256)}
	}
	return nil
}

// until reads while a context lasts.
type until struct {
	context.Context
	io.Reader
}

func (u until) Read(b []byte) (int, error) {
	if err := u.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(b)
}

// scan calls fn for the archive's rows after a position, in order. The chain
// is checked on the way.
func (p *Past) scan(ctx context.Context, a *ledger.Archived, after, upTo events.Position, fn func(*ledger.Row) error) error {
	o, err := p.find(a)
	if err != nil {
		return err
	}
	f, err := os.Open(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ledger.ErrArchived, err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := o.rows(ctx, f, after, min(upTo, a.End.Position), fn); err != nil {
		return fmt.Errorf("archive %s: %w", o.path, err)
	}
	return nil
}

// rows reads from the frame that holds the row after a position on.
func (o *opened) rows(ctx context.Context, f io.ReadSeeker, after, upTo events.Position, fn func(*ledger.Row) error) error {
	i := sort.Search(len(o.Frames), func(i int) bool { return o.Frames[i].First > after+1 }) - 1
	frame := o.Frames[max(i, 0)]
	if _, err := f.Seek(frame.Offset, io.SeekStart); err != nil {
		return err
	}
	z, err := zstd.NewReader(bufio.NewReaderSize(f, 1<<16), zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer z.Close()
	check := ledger.NewChecker(ledger.Head{Position: frame.First - 1, Hash: frame.Before})
	lines := bufio.NewScanner(z)
	lines.Buffer(make([]byte, 1<<16), maxLine)
	for check.Last().Position < upTo && lines.Scan() {
		row, err := parse(lines.Bytes())
		if err != nil {
			return fmt.Errorf("after position %d: %w: %w", check.Last().Position, ledger.ErrBroken, err)
		}
		if fault := check.Next(&row, row.ContentHash()); fault != nil {
			return fault
		}
		if row.Position > after {
			if err := fn(&row); err != nil {
				return err
			}
		}
		if row.Position%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("after position %d: %w: %w", check.Last().Position, ledger.ErrBroken, err)
	}
	return o.ended(check, upTo)
}

// ended checks where the rows ended.
func (o *opened) ended(check *ledger.Checker, upTo events.Position) error {
	switch last := check.Last(); {
	case last.Position < upTo:
		return &ledger.Fault{Position: last.Position + 1, Kind: ledger.FaultGap, Detail: "the archive ends before its manifest says"}
	case last.Position == o.Last && last.Hash != o.LastHash:
		return &ledger.Fault{Position: last.Position, Kind: ledger.FaultChain, Detail: "the archive's last event is not the one that its manifest names"}
	}
	return nil
}
