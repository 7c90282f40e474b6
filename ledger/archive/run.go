package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/durable"
)

// ErrBusy says that another process archives this ledger.
var ErrBusy = errors.New("another process is archiving this ledger")

// Options say what to archive.
type Options struct {
	Dir    string          // where the archives go
	Size   events.Position // of a span, where the store does not say so itself
	Before events.Time     // only spans that ended before it; zero: any
	To     events.Position // only spans up to it; 0: any
	// Floor is the newest position that a fold can start from; it stays, and what
	// is behind it. nil: folds start in the archives.
	Floor    func(ctx context.Context) (events.Position, error)
	Sign     func(ledger.Head, uuid.UUID) (string, error) // a signed note of an archive's end; nil: none
	Now      func() time.Time
	Progress Progress

	Step func(string) error // called before each step (write, verify, detach); its error ends the run there
}

// Run archives what may leave the store, a span at a time: written to a file,
// read back and compared with the live rows, recorded, and only then removed.
// Wherever it ends, every event is in the store or in a verified archive.
func Run(ctx context.Context, s ledger.Store, o Options) (done []ledger.Archived, err error) {
	d, ok := ledger.Part[ledger.Detacher](s)
	if !ok {
		return nil, errors.New("archive: events never leave this store")
	}
	dir, err := filepath.Abs(o.Dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	o.Dir = dir
	id, err := ledger.Identity(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	r := run{Options: o, store: s, to: d, id: id, past: NewPast(dir)}
	err = alone(ctx, s, id, func(ctx context.Context) error {
		done, err = r.all(ctx)
		return err
	})
	if err != nil {
		return done, fmt.Errorf("archive: %w", err)
	}
	return done, nil
}

// alone runs fn when no other process archives the ledger.
func alone(ctx context.Context, s ledger.Store, id uuid.UUID, fn func(context.Context) error) error {
	w, shared := ledger.Part[ledger.Writers](s)
	if !shared {
		return fn(ctx)
	}
	sum := sha256.Sum256(append([]byte("archive"), id[:]...))
	free, err := w.TakeOver(ctx, uuid.UUID(sum[:16]), fn)
	if err == nil && !free {
		return ErrBusy
	}
	return err
}

// run is Run under way.
type run struct {
	Options
	store ledger.Store
	to    ledger.Detacher
	id    uuid.UUID
	past  *Past
}

func (r *run) at(step string) error {
	if r.Step == nil {
		return nil
	}
	return r.Step(step)
}

func (r *run) all(ctx context.Context) (done []ledger.Archived, err error) {
	l, err := r.to.Layout(ctx, r.Size)
	if err != nil {
		return nil, err
	}
	if n := len(l.Archived); n > 0 && r.past.Has(&l.Archived[n-1]) == nil { // a crash may have left its rows
		if err := r.to.Detach(ctx, &l.Archived[n-1]); err != nil {
			return nil, err
		}
	}
	floor := events.Position(1<<63 - 1)
	if r.Floor != nil {
		if floor, err = r.Floor(ctx); err != nil {
			return nil, err
		}
	}
	before := l.Anchor()
	for _, span := range l.Whole {
		may, err := r.may(ctx, span, floor)
		if err != nil || !may {
			return done, err
		}
		a, err := r.one(ctx, before, span)
		if err != nil {
			return done, fmt.Errorf("positions %d to %d: %w", span.First, span.Last, err)
		}
		done, before = append(done, *a), a.End
	}
	return done, nil
}

// may says whether a span is to leave.
func (r *run) may(ctx context.Context, span ledger.Span, floor events.Position) (bool, error) {
	if r.To != 0 && span.Last > r.To || span.Last >= floor {
		return false, nil
	}
	if r.Before == 0 {
		return true, nil
	}
	end, err := headAt(ctx, r.store, span.Last)
	return err == nil && end.RecordedAt < r.Before, err
}

// one archives a span.
func (r *run) one(ctx context.Context, before ledger.Head, span ledger.Span) (*ledger.Archived, error) {
	note := func(h ledger.Head) (string, error) {
		if r.Sign == nil {
			return "", nil
		}
		return r.Sign(h, r.id)
	}
	if err := r.at("write"); err != nil {
		return nil, err
	}
	m, digest, err := create(ctx, r.store, r.id, before, span.Last, r.Dir, note, r.Progress)
	if err != nil {
		return nil, err
	}
	a := &ledger.Archived{
		Ledger: r.id, First: span.First, Before: before.Hash, Start: m.Started, End: m.End(),
		Path: filepath.Join(r.Dir, m.File), Digest: digest, Bytes: m.Bytes, Written: events.At(r.Now()),
	}
	if m.Checkpoint != "" { // in a file of its own too, for verify --checkpoint
		if err := durable.Replace(noteOf(a.Path), archiveMode, func(f *os.File) error { _, err := f.WriteString(m.Checkpoint); return err }); err != nil {
			return nil, err
		}
	}
	if err := r.at("verify"); err != nil {
		return nil, err
	}
	if err := r.compare(ctx, a); err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	if err := r.at("detach"); err != nil {
		return nil, err
	}
	return a, r.to.Detach(ctx, a)
}

// compare reads an archive back, whole, against the live rows.
func (r *run) compare(ctx context.Context, a *ledger.Archived) error {
	o, err := r.past.find(a)
	if err != nil {
		return err
	}
	f, err := os.Open(o.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := o.intact(ctx, f); err != nil {
		return err
	}
	for at := a.First - 1; at < a.End.Position; at += frameRows {
		if err := r.compareFrame(ctx, &o, f, at, min(at+frameRows, a.End.Position)); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) compareFrame(ctx context.Context, o *opened, f *os.File, after, upTo events.Position) error {
	live := make([]events.Hash, 0, frameRows)
	err := r.store.Scan(ctx, after, ledger.Filter{UpTo: upTo}, 0, func(row *ledger.Row) error {
		live = append(live, row.Hash)
		return nil
	})
	if err != nil {
		return err
	}
	i := 0
	err = o.rows(ctx, f, after, upTo, func(row *ledger.Row) error {
		if i == len(live) || row.Hash != live[i] || row.Position != after+1+events.Position(i) {
			return fmt.Errorf("%w at position %d", ErrFork, row.Position)
		}
		i++
		return nil
	})
	if err == nil && i < len(live) {
		err = fmt.Errorf("%w: the archive ends after %d", ErrFork, after+events.Position(i))
	}
	return err
}
