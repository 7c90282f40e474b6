package sqlite

import (
	"context"
	"fmt"
	"os"

	zs "zombiezen.com/go/sqlite"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// detachRows is how many rows one transaction of Detach removes: commits go on
// in between.
const detachRows = 2000

const archivedColumns = "first, last, ledger, before, started_at, recorded_at, hash, path, digest, bytes, written_at"

// Layout implements ledger.Segmented: spans are whole multiples of size.
func (r *reads) Layout(ctx context.Context, size events.Position) (l ledger.Layout, err error) {
	err = r.with(ctx, func(c *zs.Conn) error {
		if l.Archived, err = archivedRuns(c); err != nil {
			return err
		}
		h, err := readHead(c)
		if err != nil {
			return err
		}
		for at := l.Anchor().Position; size > 0 && at/size*size+size < h.Position; {
			s := ledger.Span{First: at + 1, Last: at/size*size + size}
			l.Whole = append(l.Whole, s)
			at = s.Last
		}
		return nil
	})
	return l, err
}

// notArchived makes sure that nothing behind a position left the file.
func notArchived(c *zs.Conn, after events.Position) error {
	s, err := c.Prepare("SELECT max(last) FROM archived")
	if err != nil { // written by an older binary: there is no such table yet
		return nil
	}
	_, err = s.Step()
	anchor := events.Position(s.ColumnInt64(0))
	if err := finish(s, err); err != nil {
		return err
	}
	if after < anchor {
		return fmt.Errorf("read after %d: positions up to %d: %w", after, anchor, ledger.ErrArchived)
	}
	return nil
}

// archivedRuns reads what left; nothing, in a file that is older than that.
func archivedRuns(c *zs.Conn) (all []ledger.Archived, err error) {
	there, err := one(c, "SELECT count(*) FROM sqlite_schema WHERE name = 'archived'")
	if err != nil || there == 0 {
		return nil, err
	}
	s, err := c.Prepare("SELECT " + archivedColumns + " FROM archived ORDER BY first")
	if err != nil {
		return nil, err
	}
	for {
		more, err := s.Step()
		if err != nil || !more {
			return all, finish(s, err)
		}
		a := ledger.Archived{
			First: events.Position(s.ColumnInt64(0)), Start: events.Time(s.ColumnInt64(4)), Path: s.ColumnText(7),
			End:   ledger.Head{Position: events.Position(s.ColumnInt64(1)), RecordedAt: events.Time(s.ColumnInt64(5))},
			Bytes: s.ColumnInt64(9), Written: events.Time(s.ColumnInt64(10)),
		}
		s.ColumnBytes(2, a.Ledger[:])
		s.ColumnBytes(3, a.Before[:])
		s.ColumnBytes(6, a.End.Hash[:])
		s.ColumnBytes(8, a.Digest[:])
		all = append(all, a)
	}
}

// Size implements ledger.Segmented.
func (r *reads) Size(ctx context.Context) (size ledger.Size, err error) {
	for _, name := range []string{r.path, r.path + "-wal"} {
		if fi, err := os.Stat(name); err == nil {
			size.Bytes += fi.Size()
		}
	}
	err = r.with(ctx, func(c *zs.Conn) error {
		h, err := readHead(c)
		if err != nil {
			return err
		}
		runs, err := archivedRuns(c)
		if err != nil {
			return err
		}
		l := ledger.Layout{Archived: runs}
		at := l.Anchor().Position
		size.Events = int64(h.Position - at)
		size.Oldest, err = recordedAt(c, at+1)
		return err
	})
	return size, err
}

// recordedAt is when a position was recorded, zero where it is not there.
func recordedAt(c *zs.Conn, p events.Position) (events.Time, error) {
	s, err := c.Prepare("SELECT recorded_at FROM events WHERE position = ?")
	if err != nil {
		return 0, err
	}
	s.BindInt64(1, int64(p))
	_, err = s.Step()
	at := events.Time(s.ColumnInt64(0))
	return at, finish(s, err)
}

// Detach implements ledger.Detacher.
func (s *Store) Detach(ctx context.Context, a *ledger.Archived) error {
	if err := s.record(ctx, a); err != nil {
		return fmt.Errorf("detach %d to %d: %w", a.First, a.End.Position, err)
	}
	for at := a.First; at <= a.End.Position; at += detachRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.remove(min(at+detachRows-1, a.End.Position)); err != nil {
			return fmt.Errorf("detach %d to %d: %w", a.First, a.End.Position, err)
		}
	}
	if err := s.removeEntries(ctx, a.End.Position/blockSize); err != nil {
		return fmt.Errorf("detach %d to %d: %w", a.First, a.End.Position, err)
	}
	return nil
}

// record notes the archive, unless it is noted already.
func (s *Store) record(ctx context.Context, a *ledger.Archived) error {
	l, err := s.Layout(ctx, 0)
	if err != nil {
		return err
	}
	for i := range l.Archived {
		if l.Archived[i] == *a {
			return nil
		}
	}
	return s.writing(func(c *zs.Conn) error {
		ins, err := c.Prepare("INSERT INTO archived (" + archivedColumns + ") VALUES (?,?,?,?,?,?,?,?,?,?,?)")
		if err != nil {
			return err
		}
		ins.BindInt64(1, int64(a.First))
		ins.BindInt64(2, int64(a.End.Position))
		ins.BindBytes(3, a.Ledger[:])
		ins.BindBytes(4, a.Before[:])
		ins.BindInt64(5, int64(a.Start))
		ins.BindInt64(6, int64(a.End.RecordedAt))
		ins.BindBytes(7, a.End.Hash[:])
		ins.BindText(8, a.Path)
		ins.BindBytes(9, a.Digest[:])
		ins.BindInt64(10, a.Bytes)
		ins.BindInt64(11, int64(a.Written))
		return run(ins)
	})
}

// remove deletes rows up to a position; the triggers let only archived ones go.
func (s *Store) remove(upTo events.Position) error {
	return s.writing(func(c *zs.Conn) error {
		return exec(c, "DELETE FROM events WHERE position <= ?", int64(upTo))
	})
}

// removeEntries deletes the entries of blocks whose rows are gone, a few
// accounts at a time.
func (s *Store) removeEntries(ctx context.Context, before events.Position) error {
	const accounts = 100
	for from, last := int64(0), int64(0); from <= last; from += accounts {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.writing(func(c *zs.Conn) (err error) {
			if last, err = one(c, "SELECT coalesce(max(id), 0) FROM accounts"); err != nil {
				return err
			}
			return exec(c, "DELETE FROM account_events WHERE account >= ? AND account < ? AND block < ?", from, from+accounts, int64(before))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement with integers for parameters.
func exec(c *zs.Conn, sql string, args ...int64) error {
	s, err := c.Prepare(sql)
	if err != nil {
		return err
	}
	for i, arg := range args {
		s.BindInt64(i+1, arg)
	}
	return run(s)
}

// writing runs fn in a transaction of the one writing connection.
func (s *Store) writing(fn func(*zs.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	err := run(s.w.begin)
	if err == nil {
		if err = fn(s.w.conn); err == nil {
			err = run(s.w.commitStmt)
		}
	}
	if err != nil {
		s.abandon()
	}
	return err
}
