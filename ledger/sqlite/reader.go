package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	zs "zombiezen.com/go/sqlite"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Reader is a ledger that this process only reads, while another may write it,
// or a copy. It implements ledger.Store, refuses Commit, and ledger.Shared.
type Reader struct {
	reads
	snapshots *snapshots
}

// OpenReader opens the ledger in a file for reading. It never creates a
// ledger: where there is none, that is ErrNotFound.
func OpenReader(path string) (*Reader, error) {
	if fi, err := os.Stat(path); err != nil || fi.IsDir() {
		abs, _ := filepath.Abs(path)
		return nil, fmt.Errorf("%w: looked at %s", ledger.ErrNotFound, abs)
	}
	r := &Reader{newReads(path), newSnapshots(path, false)}
	r.open = func() (*zs.Conn, error) { return openAsItIs(path) }
	if err := r.with(context.Background(), r.check); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *Reader) check(c *zs.Conn) error {
	at, err := recognise(c)
	if err != nil {
		return err
	}
	if at == 0 {
		return fmt.Errorf("%w: it is empty; if it is a copy, what was written lately is in the log that stood beside it (%s-wal): copy both, or write an export with `waybill export`", ledger.ErrNotFound, filepath.Base(r.path))
	}
	return nil
}

// openAsItIs opens a file for reading: with its log when there is one, and as
// an immutable copy when there is none, so that reading leaves no file behind.
func openAsItIs(path string) (*zs.Conn, error) {
	if fi, err := os.Stat(path + "-wal"); err == nil && fi.Size() > 0 {
		return openReading(path, zs.OpenReadOnly)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "file", Path: abs, RawQuery: "immutable=1"}
	return openReading(u.String(), zs.OpenReadOnly|zs.OpenURI)
}

// Commit refuses.
func (r *Reader) Commit(context.Context, []events.Record) ([]ledger.Result, error) {
	return nil, fmt.Errorf("append to %s: it is open for reading only", r.path)
}

// Head implements ledger.Store.
func (r *Reader) Head(ctx context.Context) (h ledger.Head, err error) {
	err = r.with(ctx, func(c *zs.Conn) (err error) {
		h, err = readHead(c)
		return err
	})
	return h, err
}

// Watch implements ledger.Shared: followers poll.
func (r *Reader) Watch(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}

// Snapshots implements ledger.Snapshotter.
func (r *Reader) Snapshots() ledger.Snapshots { return r.snapshots }

// Close implements ledger.Store.
func (r *Reader) Close() error { return errors.Join(r.close(), r.snapshots.close()) }
