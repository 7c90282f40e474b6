package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// pageRows is how many rows one query returns. Rows never change, so pages fit
// together whatever is appended between them.
const pageRows = 2000

// page is what one query returned, copied out of the connection.
type page struct {
	rows  []ledger.Row
	arena []byte
}

var pages = sync.Pool{New: func() any { return new(page) }}

// Scan implements ledger.Store.
func (s *Store) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	if s.isClosed() {
		return ledger.ErrClosed
	}
	q, err := s.query(ctx, after, f)
	if err != nil {
		return fmt.Errorf("read ledger: %w", unavailable(err))
	}
	p := pages.Get().(*page)
	defer pages.Put(p)
	for given := 0; ; {
		want := pageRows
		if limit > 0 {
			want = min(want, limit-given)
		}
		if err := p.fill(ctx, s, q, want); err != nil {
			return fmt.Errorf("read ledger: %w", unavailable(err))
		}
		if err := p.give(ctx, fn); err != nil {
			return err
		}
		given += len(p.rows)
		if len(p.rows) < want || (limit > 0 && given == limit) {
			return nil
		}
		q.from = p.rows[len(p.rows)-1].Position
		q.args[0] = int64(q.from)
	}
}

// give hands the rows over, with an eye on the context.
func (p *page) give(ctx context.Context, fn func(*ledger.Row) error) error {
	for i := range p.rows {
		if i%256 == 255 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fn(&p.rows[i]); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// fill reads one page, and asks behind it, in the same round trip, whether
// anything of what it should hold has left the table.
func (p *page) fill(ctx context.Context, s *Store, q *query, want int) (err error) {
	p.arena, p.rows = p.arena[:0], p.rows[:0]
	q.args[2] = want
	b := &pgx.Batch{}
	b.Queue(q.sql, q.args...)
	if s.divided {
		b.Queue("SELECT coalesce(max(last), 0) FROM archived")
	}
	res := s.pool.SendBatch(ctx, b)
	defer func() {
		if err = errors.Join(err, res.Close()); err != nil {
			p.rows = p.rows[:0]
		}
	}()
	if err := p.load(res); err != nil || !s.divided {
		return err
	}
	var anchor int64
	if err := res.QueryRow().Scan(&anchor); err != nil {
		return err
	}
	if q.from < events.Position(anchor) {
		return fmt.Errorf("after %d: positions up to %d: %w", q.from, anchor, ledger.ErrArchived)
	}
	return nil
}

// load copies the rows out of the connection.
func (p *page) load(res pgx.BatchResults) error {
	rows, err := res.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		if n < cap(p.rows) {
			p.rows = p.rows[:n+1]
		} else {
			p.rows = append(p.rows, ledger.Row{})
		}
		if p.arena, err = load(&p.rows[n], rows.RawValues(), p.arena); err != nil {
			return err
		}
	}
	return rows.Err()
}

// query is a filter turned into SQL; the first arguments are after, upTo and
// limit.
type query struct {
	from events.Position // behind which the rows stand
	sql  string
	args []any
}

func (s *Store) query(ctx context.Context, after events.Position, f ledger.Filter) (*query, error) {
	from := after
	upTo := int64(1<<63 - 1)
	if f.UpTo != 0 {
		upTo = int64(f.UpTo)
	}
	if f.Since != 0 {
		first, err := s.firstAt(ctx, f.Since)
		if err != nil {
			return nil, err
		}
		after = max(after, first-1)
	}
	if f.Until != 0 {
		end, err := s.firstAt(ctx, f.Until)
		if err != nil {
			return nil, err
		}
		upTo = min(upTo, int64(end)-1)
	}
	q := &query{from: from, args: []any{int64(min(after, 1<<63-1)), upTo, 0}}
	var b strings.Builder
	b.WriteString("SELECT " + columns + " FROM events WHERE position > $1 AND position <= $2")
	also := func(condition string, arg any) {
		q.args = append(q.args, arg)
		fmt.Fprintf(&b, " AND "+condition, len(q.args))
	}
	if f.Request != uuid.Nil {
		also("request = $%d", [16]byte(f.Request))
	}
	if f.Account != "" {
		also("account = $%d", []byte(f.Account))
	}
	if len(f.Kinds) > 0 {
		kinds := make([]int32, len(f.Kinds))
		for i, k := range f.Kinds {
			kinds[i] = int32(k)
		}
		also("kind = ANY($%d)", kinds)
	}
	b.WriteString(" ORDER BY position LIMIT $3")
	q.sql = b.String()
	return q, nil
}

// firstAt is the first position recorded at t or later; one past the head when
// there is none yet. recorded_at grows with position, so the server searches
// the primary key by halves: no index is needed, and no round trip per step.
func (s *Store) firstAt(ctx context.Context, t events.Time) (events.Position, error) {
	const halve = `WITH RECURSIVE s(lo, hi) AS (
		SELECT 1::bigint, (SELECT position FROM head) + 1
		UNION ALL
		SELECT CASE WHEN at >= $1 THEN lo ELSE mid + 1 END, CASE WHEN at >= $1 THEN mid ELSE hi END
		FROM (SELECT lo, hi, (lo + hi) / 2 AS mid, (SELECT recorded_at FROM events WHERE position = (lo + hi) / 2) AS at
		      FROM s WHERE lo < hi) step
	) SELECT lo FROM s WHERE lo >= hi LIMIT 1`
	var first int64
	err := s.pool.QueryRow(ctx, halve, int64(t)).Scan(&first)
	return events.Position(first), err
}
