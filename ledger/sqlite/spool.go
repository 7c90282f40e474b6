package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/durable"
)

// Spool is a store whose rows may be thrown away, all at once. Its file is
// there only while it holds something; the lock beside it is held from Open to
// Close. It implements spool.Store.
type Spool struct {
	path string
	lock *os.File

	mu     sync.RWMutex
	store  *Store // nil: there is no file
	closed bool
}

// OpenSpool opens the spool in a file, and makes it no sooner than there is
// something to keep. Another process that has it open is ErrLocked.
func OpenSpool(path string) (*Spool, error) {
	if err := prepare(path); err != nil {
		return nil, err
	}
	lock, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	s := &Spool{path: path, lock: lock}
	switch _, err = os.Stat(path); {
	case err == nil:
		err = s.open()
	case errors.Is(err, os.ErrNotExist):
		err = nil
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open spool %s: %w", path, err), lock.Close())
	}
	return s, nil
}

// open opens the file. The caller has the lock.
func (s *Spool) open() error {
	st := &Store{reads: newReads(s.path), snapshots: newSnapshots(s.path, false)}
	if err := st.start(); err != nil {
		return errors.Join(err, st.Close())
	}
	s.store = st
	return nil
}

// Commit implements ledger.Store.
func (s *Spool) Commit(ctx context.Context, batch []events.Record) ([]ledger.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ledger.ErrClosed
	}
	if s.store == nil {
		if err := s.open(); err != nil {
			return nil, fmt.Errorf("commit: make spool %s: %w", s.path, err)
		}
	}
	return s.store.Commit(ctx, batch)
}

// Scan implements ledger.Store.
func (s *Spool) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	return s.read(func(st *Store) error { return st.Scan(ctx, after, f, limit, fn) })
}

// Head implements ledger.Store.
func (s *Spool) Head(ctx context.Context) (h ledger.Head, err error) {
	err = s.read(func(st *Store) (err error) {
		h, err = st.Head(ctx)
		return err
	})
	return h, err
}

// read runs fn on the file, if there is one.
func (s *Spool) read(fn func(*Store) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ledger.ErrClosed
	}
	if s.store == nil {
		return nil
	}
	return fn(s.store)
}

// Size is what the rows and their indexes take, in bytes; the write-ahead log
// beside them takes some 8 MB more while the file is there.
func (s *Spool) Size() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.store == nil {
		return 0
	}
	return s.store.size()
}

// Empty removes the file if its newest row is still the one at a position.
func (s *Spool) Empty(at events.Position) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, ledger.ErrClosed
	}
	if s.store == nil {
		return at == 0, nil
	}
	if h, err := s.store.Head(context.Background()); err != nil || h.Position != at {
		return false, err
	}
	err := s.store.Close()
	s.store = nil
	if err = errors.Join(err, remove(s.path), durable.Dir(filepath.Dir(s.path))); err != nil {
		return false, fmt.Errorf("empty spool %s: %w", s.path, err)
	}
	return true, nil
}

// SetAside implements spool.Store: the file gets the first free name behind its
// own, and stays for whoever looks into it.
func (s *Spool) SetAside() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.store == nil {
		return "", ledger.ErrClosed
	}
	err := s.store.Close()
	s.store = nil
	where := ""
	for n := 1; where == ""; n++ {
		if name := fmt.Sprintf("%s%s%d", s.path, brokenSuffix, n); !exists(name) {
			where = name
		}
	}
	for _, suffix := range suffixes {
		if exists(s.path + suffix) {
			err = errors.Join(err, os.Rename(s.path+suffix, where+suffix))
		}
	}
	if err = errors.Join(err, durable.Dir(filepath.Dir(s.path))); err != nil {
		return where, fmt.Errorf("set spool %s aside: %w", s.path, err)
	}
	return where, nil
}

// brokenSuffix, and a number behind it, names a spool that was set aside.
const brokenSuffix = ".broken-"

// Broken are the spools that were set aside beside a path.
func Broken(path string) []string {
	all, _ := filepath.Glob(path + brokenSuffix + "*") // a pattern of ours
	return slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-shm") })
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Close implements ledger.Store.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if s.store != nil {
		err = s.store.Close()
	}
	return errors.Join(err, s.lock.Close())
}

// size is what the database takes, in bytes, without its write-ahead log.
func (s *Store) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return s.bytes
	}
	pages, err := one(s.w.conn, "PRAGMA page_count")
	if err == nil {
		s.bytes = pages * pageSize
	}
	return s.bytes
}
