package sqlite

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"
	zs "zombiezen.com/go/sqlite"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// pageRows is how many rows are read under one snapshot. Rows never change, so
// pages fit together whatever is appended between them.
const pageRows = 512

// page is what one query returned, copied out of the database.
type page struct {
	rows  []numbered
	arena []byte
}

// Scan implements ledger.Store.
func (r *reads) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	p := r.pages.Get().(*page)
	defer r.pages.Put(p)
	q := query{after: after, upTo: f.UpTo, filter: f}
	for given := 0; ; {
		want := pageRows
		if limit > 0 {
			want = min(want, limit-given)
		}
		if err := r.with(ctx, func(c *zs.Conn) error { return r.fill(c, &q, want, p) }); err != nil {
			return err
		}
		for i := range p.rows {
			if err := fn(&p.rows[i].Row); err != nil {
				return err
			}
		}
		given += len(p.rows)
		if len(p.rows) < want || (limit > 0 && given == limit) {
			return nil
		}
		q.after = p.rows[len(p.rows)-1].Position
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// fill reads one page.
func (r *reads) fill(c *zs.Conn, q *query, want int, p *page) error {
	p.rows, p.arena = p.rows[:0], p.arena[:0]
	start := q.after
	if err := q.bound(c); err != nil {
		return err
	}
	if !q.nothing {
		if err := q.fill(c, want, p); err != nil {
			return err
		}
	}
	if err := notArchived(c, start); err != nil { // asked last: what left meanwhile is missing in the page
		p.rows = p.rows[:0]
		return err
	}
	for i := range p.rows {
		if err := p.rows[i].resolve(c, &r.names); err != nil {
			return err
		}
	}
	return nil
}

// fill reads rows in the way that finds them fastest.
func (q *query) fill(c *zs.Conn, want int, p *page) error {
	if q.filter.Account != "" && q.filter.Request == uuid.Nil {
		return q.ofAccount(c, want, p)
	}
	return q.scan(c, q.after, want, p)
}

// scan runs the query over the rows after a position.
func (q *query) scan(c *zs.Conn, after events.Position, want int, p *page) error {
	s, err := q.prepare(c)
	if err != nil {
		return err
	}
	s.BindInt64(1, int64(after))
	s.BindInt64(2, q.last())
	s.BindInt64(3, int64(want))
	for {
		more, err := s.Step()
		if err != nil || !more {
			return finish(s, err)
		}
		p.load(s)
	}
}

func (p *page) load(s *zs.Stmt) *numbered {
	p.rows = append(p.rows, numbered{})
	row := &p.rows[len(p.rows)-1]
	p.arena = row.load(s, p.arena)
	return row
}

// query is a filter turned into SQL.
type query struct {
	filter  ledger.Filter
	after   events.Position
	upTo    events.Position // 0: no bound
	bounded bool            // since and until are in after and upTo
	nothing bool
	sql     string
}

func (q *query) last() int64 {
	if q.upTo == 0 {
		return 1<<63 - 1
	}
	return int64(q.upTo)
}

// prepare writes the statement. Parameters 1 to 3 are after, last and limit.
func (q *query) prepare(c *zs.Conn) (*zs.Stmt, error) {
	if q.sql == "" {
		q.sql = q.text()
	}
	s, err := c.Prepare(q.sql)
	if err != nil {
		return nil, err
	}
	if q.filter.Request != uuid.Nil {
		s.BindBytes(4, q.filter.Request[:])
	}
	if q.filter.Account != "" {
		s.BindText(5, q.filter.Account)
	}
	return s, nil
}

func (q *query) text() string {
	var b strings.Builder
	b.WriteString("SELECT " + columns + " FROM events WHERE position > ?1 AND position <= ?2")
	if q.filter.Request != uuid.Nil {
		b.WriteString(" AND request = ?4")
	}
	if q.filter.Account != "" {
		b.WriteString(" AND account = (SELECT id FROM accounts WHERE name = ?5)")
	}
	if len(q.filter.Kinds) > 0 {
		b.WriteString(" AND kind IN (0")
		for _, k := range q.filter.Kinds {
			b.WriteString("," + strconv.Itoa(int(k)))
		}
		b.WriteString(")")
	}
	b.WriteString(" ORDER BY position LIMIT ?3")
	return b.String()
}

// bound turns instants into positions: recorded_at grows with position, so a
// binary search over the primary key needs no index.
func (q *query) bound(c *zs.Conn) error {
	if q.bounded {
		return nil
	}
	q.bounded = true
	h, err := readHead(c)
	if err != nil {
		return err
	}
	if q.filter.Since != 0 {
		first, err := firstAt(c, q.filter.Since, h)
		if err != nil {
			return err
		}
		q.after = max(q.after, first-1)
		q.nothing = first > h.Position // what comes later may still be recorded before
	}
	if q.filter.Until != 0 {
		end, err := firstAt(c, q.filter.Until, h)
		if err != nil {
			return err
		}
		if q.upTo == 0 || end-1 < q.upTo {
			q.upTo = end - 1
			q.nothing = q.nothing || q.upTo == 0
		}
	}
	return nil
}

// firstAt is the first position recorded at t or later; one past the head when
// there is none yet.
func firstAt(c *zs.Conn, t events.Time, h ledger.Head) (events.Position, error) {
	lo, hi := events.Position(1), h.Position+1
	for lo < hi {
		mid := (lo + hi) / 2
		at, err := recordedAt(c, mid)
		if err != nil {
			return 0, err
		}
		if at >= t {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo, nil
}
