package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waybill/waybill/ledger"
)

// maxReaders bounds the connections that read at the same time.
const maxReaders = 4

// reads is the reading half of a store: a few connections and the names.
type reads struct {
	path  string
	open  func() (*zs.Conn, error)
	slots chan *zs.Conn // nil: not opened yet
	names dictionaries
	pages *sync.Pool
	done  chan struct{}
}

func newReads(path string) reads {
	r := reads{
		path:  path,
		slots: make(chan *zs.Conn, maxReaders),
		names: newDictionaries(),
		pages: &sync.Pool{New: func() any { return new(page) }},
		done:  make(chan struct{}),
	}
	for range maxReaders {
		r.slots <- nil
	}
	r.open = func() (*zs.Conn, error) { return openReading(path, zs.OpenReadOnly) }
	return r
}

func openReading(path string, flags zs.OpenFlags) (*zs.Conn, error) {
	c, err := open(path, flags)
	if err != nil {
		return nil, err
	}
	for _, p := range []string{"PRAGMA query_only=ON", "PRAGMA trusted_schema=OFF", "PRAGMA cache_size=-1024"} {
		if err := sqlitex.ExecuteTransient(c, p, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", p, err), c.Close())
		}
	}
	return c, nil
}

// with runs fn on a connection of its own.
func (r *reads) with(ctx context.Context, fn func(*zs.Conn) error) error {
	var c *zs.Conn
	select {
	case <-r.done:
		return ledger.ErrClosed
	default:
	}
	select {
	case c = <-r.slots:
	case <-r.done:
		return ledger.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { r.slots <- c }()
	if c == nil {
		opened, err := r.open()
		if err != nil {
			return fmt.Errorf("read ledger %s: %w: %w", r.path, ledger.ErrUnavailable, err)
		}
		c = opened
	}
	if err := fn(c); err != nil {
		return fmt.Errorf("read ledger %s: %w", r.path, broken(err))
	}
	return nil
}

// broken marks what SQLite says of a file that cannot be what was written.
func broken(err error) error {
	switch zs.ErrCode(err).ToPrimary() {
	case zs.ResultCorrupt, zs.ResultNotADB:
		return fmt.Errorf("%w: %w", ledger.ErrBroken, err)
	}
	return err
}

// close waits for readers to end.
func (r *reads) close() (err error) {
	close(r.done)
	for range maxReaders {
		if c := <-r.slots; c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// Stray implements ledger.Strays. The ledger ends where its rows do; only
// before its beginning can one be none of it.
func (r *reads) Stray(ctx context.Context) (fault *ledger.Fault, err error) {
	err = r.with(ctx, func(c *zs.Conn) error {
		n, err := one(c, "SELECT count(*) FROM events WHERE position < 1")
		if err == nil && n > 0 {
			fault = &ledger.Fault{Kind: ledger.FaultHead, Detail: fmt.Sprintf("%d rows stand before position 1: nobody appended them", n)}
		}
		return err
	})
	return fault, err
}
