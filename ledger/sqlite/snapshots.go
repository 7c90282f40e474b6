package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// snapshotsSuffix makes the name of the file of snapshots out of the ledger's.
// It may be deleted at any time while nobody has it open.
const snapshotsSuffix = ".snapshots"

// snapshotsID marks the file: "WAYS".
const snapshotsID = 0x57415953

const snapshotsSchema = `
CREATE TABLE IF NOT EXISTS snapshots (
  name     TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  position INTEGER NOT NULL,
  hash     BLOB    NOT NULL, -- of the event at the position
  bytes    INTEGER NOT NULL,
  state    BLOB    NOT NULL,
  PRIMARY KEY (name, version, position)
) STRICT;`

// snapshots is the file beside the ledger. It is opened at its first use: who
// writes makes it when it is not there, and again when it is damaged; who only
// reads does without it.
type snapshots struct {
	path   string
	writes bool

	mu     sync.Mutex
	conn   *zs.Conn // nil: not opened
	closed bool
}

func newSnapshots(path string, writes bool) *snapshots {
	return &snapshots{path: path + snapshotsSuffix, writes: writes}
}

// with runs fn on the connection. A damaged file is removed: the next use makes
// a new one.
func (s *snapshots) with(fn func(*zs.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ledger.ErrClosed
	}
	err := s.open()
	if err == nil {
		err = fn(s.conn)
	}
	if damaged(err) && s.writes {
		err = errors.Join(err, s.remove())
	}
	if err != nil {
		return fmt.Errorf("snapshots %s: %w", s.path, err)
	}
	return nil
}

func damaged(err error) bool {
	code := zs.ErrCode(err).ToPrimary()
	return code == zs.ResultCorrupt || code == zs.ResultNotADB || errors.Is(err, ErrForeign)
}

func (s *snapshots) open() error {
	if s.conn != nil {
		return nil
	}
	c, err := s.connect()
	if err != nil {
		return err
	}
	if err := s.prepare(c); err != nil {
		return errors.Join(err, c.Close())
	}
	s.conn = c
	return nil
}

func (s *snapshots) connect() (*zs.Conn, error) {
	if s.writes {
		return open(s.path, zs.OpenReadWrite|zs.OpenCreate)
	}
	return openAsItIs(s.path)
}

func (s *snapshots) prepare(c *zs.Conn) error {
	id, err := one(c, "PRAGMA application_id")
	if err == nil && s.writes {
		for _, p := range []string{"PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL"} {
			err = errors.Join(err, sqlitex.ExecuteTransient(c, p, nil))
		}
	}
	switch {
	case err != nil:
		return err
	case id == snapshotsID:
		return nil
	case id != 0 || !s.writes:
		return ErrForeign
	}
	return sqlitex.ExecuteScript(c, fmt.Sprintf("%s\nPRAGMA application_id=%d;", snapshotsSchema, snapshotsID), nil)
}

// remove deletes the file and what belongs to it.
func (s *snapshots) remove() error {
	if s.conn != nil {
		_ = s.conn.Close() // of a file that is damaged
		s.conn = nil
	}
	return remove(s.path)
}

func (s *snapshots) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.conn == nil {
		return nil
	}
	return s.conn.Close()
}

// Save implements ledger.Snapshots.
func (s *snapshots) Save(_ context.Context, list []ledger.Snapshot) error {
	if !s.writes {
		return errors.New("snapshots are open for reading only")
	}
	return s.with(func(c *zs.Conn) (err error) {
		defer sqlitex.Transaction(c)(&err)
		put, err := c.Prepare("INSERT OR REPLACE INTO snapshots (name, version, position, hash, bytes, state) VALUES (?,?,?,?,?,?)")
		if err != nil {
			return err
		}
		for i := range list {
			bindKey(put, list[i].Name, list[i].Version, list[i].At.Position)
			put.BindBytes(4, list[i].At.Hash[:])
			put.BindInt64(5, int64(len(list[i].State)))
			put.BindBytes(6, list[i].State)
			if err := run(put); err != nil {
				return err
			}
		}
		return nil
	})
}

func bindKey(s *zs.Stmt, name string, version uint32, at events.Position) {
	s.BindText(1, name)
	s.BindInt64(2, int64(version))
	s.BindInt64(3, int64(at))
}

// Newest implements ledger.Snapshots.
func (s *snapshots) Newest(_ context.Context, name string, version uint32, upTo events.Position) (got ledger.Snapshot, ok bool, err error) {
	if !s.there() {
		return got, false, nil
	}
	got.Name, got.Version = name, version
	err = s.with(func(c *zs.Conn) error {
		q, err := c.Prepare("SELECT position, hash, state FROM snapshots WHERE name = ? AND version = ? AND position <= ? ORDER BY position DESC LIMIT 1")
		if err != nil {
			return err
		}
		bindKey(q, name, version, min(upTo, 1<<63-1))
		if ok, err = q.Step(); ok {
			got.At.Position = events.Position(q.ColumnInt64(0))
			q.ColumnBytes(1, got.At.Hash[:])
			got.State = make([]byte, q.ColumnLen(2))
			q.ColumnBytes(2, got.State)
		}
		return finish(q, err)
	})
	return got, ok && err == nil, err
}

// there says whether there is a file to read.
func (s *snapshots) there() bool {
	if s.writes {
		return true
	}
	_, err := os.Stat(s.path)
	return err == nil
}

// Places implements ledger.Snapshots.
func (s *snapshots) Places(context.Context) (out []ledger.SnapshotPlace, err error) {
	if !s.there() {
		return nil, nil
	}
	err = s.with(func(c *zs.Conn) error {
		out = nil
		return sqlitex.Execute(c, "SELECT name, version, position, bytes FROM snapshots ORDER BY name, version, position", &sqlitex.ExecOptions{
			ResultFunc: func(q *zs.Stmt) error {
				out = append(out, ledger.SnapshotPlace{Name: q.ColumnText(0), Version: uint32(q.ColumnInt64(1)),
					Position: events.Position(q.ColumnInt64(2)), Bytes: q.ColumnInt64(3)})
				return nil
			}})
	})
	return out, err
}

// Drop implements ledger.Snapshots.
func (s *snapshots) Drop(_ context.Context, list []ledger.SnapshotPlace) error {
	return s.with(func(c *zs.Conn) (err error) {
		defer sqlitex.Transaction(c)(&err)
		del, err := c.Prepare("DELETE FROM snapshots WHERE name = ? AND version = ? AND position = ?")
		if err != nil {
			return err
		}
		for i := range list {
			bindKey(del, list[i].Name, list[i].Version, list[i].Position)
			if err := run(del); err != nil {
				return err
			}
		}
		return nil
	})
}
