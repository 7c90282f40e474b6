package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// extend makes segments until two whole ones are ahead of the head.
func (s *Store) extend(ctx context.Context) error {
	var reach int64
	if err := s.pool.QueryRow(ctx, "SELECT extend_events($1)", int64(s.opt.Segment)).Scan(&reach); err != nil {
		return fmt.Errorf("make segments: %w", unavailable(err))
	}
	s.reach.Store(uint64(reach))
	return nil
}

// ahead does, in the background, what the growing ledger needs: it makes segments
// when less than two are ahead, and enters the accounts of blocks that are whole.
func (s *Store) ahead() {
	s.enter()
	if uint64(s.last+2*s.opt.Segment) <= s.reach.Load() || !s.making.CompareAndSwap(false, true) {
		return
	}
	s.maker.Go(func() {
		defer s.making.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = s.extend(ctx) // the next commit tries again
	})
}

// room makes segments when a commit failed for want of one: tried again, it
// finds its place.
func (s *Store) room(ctx context.Context, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "23514" {
		return err
	}
	return errors.Join(fmt.Errorf("%w: %w", ledger.ErrUnavailable, err), s.extend(ctx))
}

const archivedColumns = "first, last, ledger, before, started_at, recorded_at, hash, path, digest, bytes, written_at"

// Layout implements ledger.Segmented: a span is a segment, whatever its size.
func (s *Store) Layout(ctx context.Context, _ events.Position) (l ledger.Layout, err error) {
	if s.isClosed() {
		return l, ledger.ErrClosed
	}
	if !s.divided {
		return l, nil
	}
	rows, err := s.pool.Query(ctx, "SELECT "+archivedColumns+" FROM archived ORDER BY first")
	if err != nil {
		return l, fmt.Errorf("read archived: %w", unavailable(err))
	}
	if l.Archived, err = pgx.CollectRows(rows, archivedRow); err != nil {
		return l, fmt.Errorf("read archived: %w", unavailable(err))
	}
	rows, err = s.pool.Query(ctx, "SELECT first, last FROM segments WHERE first > $1 AND last < (SELECT position FROM head) ORDER BY first", int64(l.Anchor().Position))
	if err != nil {
		return l, fmt.Errorf("read segments: %w", unavailable(err))
	}
	l.Whole, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (p ledger.Span, err error) {
		var first, last int64
		err = r.Scan(&first, &last)
		return ledger.Span{First: events.Position(first), Last: events.Position(last)}, err
	})
	return l, unavailable(err)
}

func archivedRow(r pgx.CollectableRow) (a ledger.Archived, err error) {
	var first, last, started, recorded, written int64
	var id [16]byte
	var before, hash, digest []byte
	err = r.Scan(&first, &last, &id, &before, &started, &recorded, &hash, &a.Path, &digest, &a.Bytes, &written)
	a.First, a.Ledger, a.Start, a.Written = events.Position(first), id, events.Time(started), events.Time(written)
	a.End = ledger.Head{Position: events.Position(last), RecordedAt: events.Time(recorded)}
	copy(a.Before[:], before)
	copy(a.End.Hash[:], hash)
	copy(a.Digest[:], digest)
	return a, err
}

// Size implements ledger.Segmented.
func (s *Store) Size(ctx context.Context) (size ledger.Size, err error) {
	if s.isClosed() {
		return size, ledger.ErrClosed
	}
	var oldest *int64
	err = s.pool.QueryRow(ctx, `SELECT (SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint FROM (SELECT relid FROM pg_partition_tree('events') UNION SELECT to_regclass('account_events')) t),
		(SELECT position FROM head) - coalesce((SELECT position FROM events ORDER BY position LIMIT 1) - 1, 0),
		(SELECT recorded_at FROM events ORDER BY position LIMIT 1)`).Scan(&size.Bytes, &size.Events, &oldest)
	if err != nil {
		return size, fmt.Errorf("read size: %w", unavailable(err))
	}
	if oldest != nil {
		size.Oldest = events.Time(*oldest)
	}
	return size, nil
}

// Detach implements ledger.Detacher, as the owner of the schema: the
// application's role can remove nothing.
func (s *Store) Detach(ctx context.Context, a *ledger.Archived) error {
	err := s.detach(ctx, a)
	if err != nil {
		return fmt.Errorf("detach %d to %d: %w", a.First, a.End.Position, unavailable(err))
	}
	return nil
}

func (s *Store) detach(ctx context.Context, a *ledger.Archived) error {
	if s.isClosed() {
		return ledger.ErrClosed
	}
	conn, err := s.owner(ctx)
	if err != nil {
		return err
	}
	defer closeSoon(conn)
	if err := record(ctx, conn, a); err != nil {
		return err
	}
	name := pgx.Identifier{fmt.Sprintf("events_%d", a.First)}.Sanitize()
	var there, leaving bool
	err = conn.QueryRow(ctx, "SELECT count(*) > 0, coalesce(bool_or(leaving), false) FROM segments WHERE first = $1", int64(a.First)).Scan(&there, &leaving)
	if err != nil {
		return err
	}
	steps := []string{"ALTER TABLE events DETACH PARTITION " + name + " CONCURRENTLY", "DROP TABLE IF EXISTS " + name,
		fmt.Sprintf("DELETE FROM account_events WHERE block < %d", a.End.Position/ledger.EntryBlock)}
	switch {
	case leaving: // a crash ended it half way
		steps[0] = "ALTER TABLE events DETACH PARTITION " + name + " FINALIZE"
	case !there:
		steps = steps[1:]
	}
	for _, sql := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// owner connects as whoever owns the schema.
func (s *Store) owner(ctx context.Context) (*pgx.Conn, error) {
	if s.opt.ReadOnly {
		return nil, errors.New("the ledger is open for reading only")
	}
	conf := s.conf
	if s.opt.Owner != "" {
		var err error
		if conf, err = config(s.opt.Owner, s.opt.Schema); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, conf)
}

// record notes the archive, unless it is noted already.
func record(ctx context.Context, conn *pgx.Conn, a *ledger.Archived) error {
	rows, err := conn.Query(ctx, "SELECT "+archivedColumns+" FROM archived WHERE first = $1", int64(a.First))
	if err != nil {
		return err
	}
	known, err := pgx.CollectRows(rows, archivedRow)
	if err != nil || len(known) == 1 && known[0] == *a {
		return err
	}
	_, err = conn.Exec(ctx, "INSERT INTO archived ("+archivedColumns+") VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)",
		int64(a.First), int64(a.End.Position), [16]byte(a.Ledger), a.Before[:], int64(a.Start), int64(a.End.RecordedAt), a.End.Hash[:], a.Path, a.Digest[:], a.Bytes, int64(a.Written))
	return err
}
