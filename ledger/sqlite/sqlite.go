// Package sqlite is the embedded ledger: one file, one writing process, any
// number of readers. It stores records and knows nothing of payloads.
//
// Commits are durable when they return: WAL, synchronous=FULL. The write-ahead
// log is filled with zeros ahead of use, because overwriting a file costs half
// of what growing it costs (docs/decisions/0001-sqlite-appends.md).
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	zs "zombiezen.com/go/sqlite"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// ErrForeign says that the file is a database, but not a Waybill ledger that this
// binary can use.
var ErrForeign = errors.New("not a Waybill ledger")

// Store is a ledger that this process writes. It implements ledger.Store.
type Store struct {
	reads
	snapshots *snapshots
	lock      *os.File // nil: somebody else holds it

	mu     sync.Mutex
	w      *writer // nil after a failure, until the next commit
	head   ledger.Head
	closed bool
	hashes []events.Hash
	bytes  int64 // of the database, when size was last asked
}

// Open opens the ledger in a file for writing, creating it when it is not
// there. Another process that has it open for writing is ErrLocked.
func Open(path string) (*Store, error) {
	if err := prepare(path); err != nil {
		return nil, err
	}
	lock, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	s := &Store{reads: newReads(path), snapshots: newSnapshots(path, true), lock: lock}
	if err := s.start(); err != nil {
		err = errors.Join(err, s.Close())
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	return s, nil
}

// prepare makes the directory and refuses what cannot hold a ledger.
func prepare(path string) error {
	if path == "" {
		return errors.New("open ledger: no path given")
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("open ledger: %w", err)
	}
	return refuseNetwork(dir)
}

func (s *Store) start() error {
	w, err := openWriter(s.path)
	if err != nil {
		return err
	}
	s.w, s.head = w, w.head
	return nil
}

// Commit implements ledger.Store.
func (s *Store) Commit(_ context.Context, batch []events.Record) ([]ledger.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	s.hashes = s.hashes[:0]
	for i := range batch {
		s.hashes = append(s.hashes, batch[i].ContentHash())
	}
	results, err := s.w.commit(batch, s.hashes, events.Time(time.Now().UnixMicro()))
	if err != nil {
		s.abandon()
		return nil, fmt.Errorf("commit %d events: %w", len(batch), err)
	}
	s.head = s.w.head
	return results, nil
}

// ready opens the connection anew that a failure has closed. s.mu is held.
func (s *Store) ready() error {
	if s.closed {
		return ledger.ErrClosed
	}
	if s.w != nil {
		return nil
	}
	before := s.head
	if err := s.start(); err != nil {
		return fmt.Errorf("reopen: %w", err)
	}
	if err := s.follows(before); err != nil {
		s.abandon()
		s.head = before
		return fmt.Errorf("reopen: %w", err)
	}
	return nil
}

// follows makes sure that what is behind a head is what a commit of unknown
// outcome has added: rows of somebody else are not appended behind.
func (s *Store) follows(before ledger.Head) error {
	check := ledger.NewChecker(before)
	err := s.Scan(context.Background(), before.Position, ledger.Filter{}, 0, func(r *ledger.Row) error {
		if fault := check.Next(r, r.ContentHash()); fault != nil {
			return fault
		}
		return nil
	})
	if err == nil && check.Last() != s.head {
		err = fmt.Errorf("the ledger ends at %d and not at %d", check.Last().Position, s.head.Position)
	}
	if err != nil && !errors.Is(err, ledger.ErrBroken) {
		err = fmt.Errorf("%w: %w", ledger.ErrBroken, err)
	}
	return err
}

// abandon drops a connection whose commit failed: whatever state it is in, the
// next commit starts from what is on disk.
func (s *Store) abandon() {
	_ = s.w.close() // it failed already; a second error says nothing new
	s.w = nil
}

// Snapshots implements ledger.Snapshotter.
func (s *Store) Snapshots() ledger.Snapshots { return s.snapshots }

// Head implements ledger.Store.
func (s *Store) Head(ctx context.Context) (ledger.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ledger.Head{}, ledger.ErrClosed
	}
	return s.head, nil
}

// Close implements ledger.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := errors.Join(s.close(), s.snapshots.close())
	if s.w != nil {
		err = errors.Join(err, s.w.close())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// suffixes make the names of the files that SQLite keeps of one database. The
// rows go first where they are removed: a log without its database is nothing.
var suffixes = [...]string{"", "-wal", "-shm"}

// remove deletes a database, which nobody has open. One that is not there is no
// error.
func remove(path string) (err error) {
	for _, suffix := range suffixes {
		if e := os.Remove(path + suffix); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// Remove deletes a ledger that nobody has open, with what stands beside it.
func Remove(path string) error {
	err := errors.Join(remove(path), remove(path+snapshotsSuffix))
	if e := os.Remove(path + lockSuffix); !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}

// open makes a connection that waits for a lock, but not for ever.
func open(path string, flags zs.OpenFlags) (*zs.Conn, error) {
	c, err := zs.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(2 * time.Second)
	if _, err := one(c, "PRAGMA schema_version"); zs.ErrCode(err) == zs.ResultNotADB { // the first look into the file
		return nil, errors.Join(fmt.Errorf("%w: it is no SQLite database; name another file, or move this one away", ErrForeign), c.Close())
	}
	return c, nil
}
