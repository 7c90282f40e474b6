package postgres

import (
	"context"
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

// page is what one round trip returned, copied out of the connection.
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
	r := newReading(s, after, f)
	p := pages.Get().(*page)
	defer pages.Put(p)
	for given := 0; ; {
		want := pageRows
		if limit > 0 {
			want = min(want, limit-given)
		}
		more, err := r.fill(ctx, p, want)
		if err != nil {
			return fmt.Errorf("read ledger: %w", err)
		}
		if err := p.give(ctx, fn); err != nil {
			return err
		}
		given += len(p.rows)
		if !more || (limit > 0 && given == limit) {
			return nil
		}
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

// load copies rows out of the connection, until there are as many as are wanted.
func (p *page) load(rows pgx.Rows, want int) (err error) {
	for len(p.rows) < want && rows.Next() {
		n := len(p.rows)
		if n < cap(p.rows) {
			p.rows = p.rows[:n+1]
		} else {
			p.rows = append(p.rows, ledger.Row{})
		}
		if p.arena, err = load(&p.rows[n], rows.RawValues(), p.arena); err != nil {
			return err
		}
	}
	return nil
}

// reading is a scan under way. It goes from segment to segment.
type reading struct {
	store   *Store
	filter  ledger.Filter
	div     *division       // nil: not looked at yet
	entries *entries        // of the account; nil: it is not read by them
	from    events.Position // where the page begins
	at      events.Position // rows up to it were given, or there are none
	upTo    events.Position
	bounded bool // at and upTo are what the filter's instants say
	asked   bool // whether what is behind from is there
}

func newReading(s *Store, after events.Position, f ledger.Filter) *reading {
	const most = events.Position(1<<63 - 1)
	r := &reading{store: s, filter: f, from: after, at: min(after, most), upTo: most}
	if f.UpTo != 0 {
		r.upTo = min(f.UpTo, most)
	}
	if f.Account != "" && len(f.Account) <= ledger.EntryName && f.Request == uuid.Nil && s.indexed {
		r.entries = new(entries)
	}
	return r
}

// fill reads a page, and says whether there may be another. A segment that was
// removed meanwhile is archived, or was put elsewhere: it is looked at again.
func (r *reading) fill(ctx context.Context, p *page, want int) (more bool, err error) {
	for again := false; ; again = true {
		p.rows, p.arena = p.rows[:0], p.arena[:0]
		if err = r.start(ctx); err == nil {
			more, err = r.page(ctx, p, want)
		}
		if err == nil {
			r.from = r.at
			return more, nil
		}
		p.rows = p.rows[:0]
		if again || !undefinedTable(err) {
			return false, err
		}
		if err = r.renew(ctx); err != nil {
			return false, err
		}
	}
}

// start finds out, once, where the scan begins and ends.
func (r *reading) start(ctx context.Context) (err error) {
	if r.bounded {
		return nil
	}
	if r.div == nil {
		if r.div, err = r.store.division(ctx); err != nil {
			return unavailable(err)
		}
	}
	err = r.bound(ctx)
	r.bounded = err == nil
	return err
}

// renew looks at the segments again.
func (r *reading) renew(ctx context.Context) error {
	d, err := r.store.divide(ctx)
	if err != nil {
		return unavailable(err)
	}
	r.div = d
	return r.left(d.anchor)
}

// left says that rows which the scan should have given left the table.
func (r *reading) left(anchor events.Position) error {
	if r.from < anchor {
		return fmt.Errorf("after %d: positions up to %d: %w", r.from, anchor, ledger.ErrArchived)
	}
	return nil
}

// round asks in one round trip, and behind all else whether anything of what
// the answers should hold had left by then.
func (r *reading) round(ctx context.Context, b *pgx.Batch) error {
	var anchor int64
	if r.store.divided {
		b.Queue("SELECT coalesce(max(last), 0) FROM archived").QueryRow(func(row pgx.Row) error { return row.Scan(&anchor) })
	}
	if b.Len() > 0 {
		if err := r.store.pool.SendBatch(ctx, b).Close(); err != nil {
			return unavailable(err)
		}
	}
	r.asked = true
	return r.left(events.Position(anchor))
}

// page reads rows in the way that finds them fastest.
func (r *reading) page(ctx context.Context, p *page, want int) (more bool, err error) {
	for r.at < r.upTo {
		switch e := r.entries; {
		case e.names():
			return true, r.named(ctx, p, want)
		case e.covers(r):
			if err := r.lookUp(ctx); err != nil {
				return false, err
			}
		default:
			more, err := r.stretch(ctx, p, want)
			if err != nil || !more || len(p.rows) > 0 {
				return more, err
			}
		}
	}
	if !r.asked {
		return false, r.round(ctx, &pgx.Batch{})
	}
	return false, nil
}

// probedAtOnce is how many segments are asked for a request in one round trip.
const probedAtOnce = 16

// stretch reads rows of the segments that are next: of one, or of all that may
// hold the request.
func (r *reading) stretch(ctx context.Context, p *page, want int) (more bool, err error) {
	b := &pgx.Batch{}
	var head int64
	read, end, last := r.next()
	if last { // first, so that of what is up to the head nothing is missing
		b.Queue("SELECT position FROM head").QueryRow(func(row pgx.Row) error { return row.Scan(&head) })
	}
	for _, g := range read {
		b.Queue(r.sql(g), r.args(want)...).Query(func(rows pgx.Rows) error { return p.load(rows, want) })
	}
	if err := r.round(ctx, b); err != nil {
		return false, err
	}
	if n := len(p.rows); n == want {
		r.at = p.rows[n-1].Position
		return true, nil
	}
	r.at = max(r.at, end)
	if !last {
		return r.at < r.upTo, nil
	}
	if events.Position(head) <= end {
		return false, nil
	}
	return true, r.renew(ctx) // the ledger has grown into segments that were not known
}

// next are segments to read, and the position up to which no other has rows
// that are wanted. last: nothing is known of what is behind it.
func (r *reading) next() (read []*segment, end events.Position, last bool) {
	end = r.at
	for i := r.div.behind(r.at); i < len(r.div.segments); i++ {
		g := &r.div.segments[i]
		wanted, most := true, 1
		if r.filter.Request != uuid.Nil {
			wanted, most = g.mayHold(r.filter.Request), probedAtOnce
		}
		switch {
		case g.first > r.upTo:
			return read, r.upTo, false
		case wanted && len(read) == most:
			return read, end, false
		case wanted:
			read = append(read, g)
		}
		end = g.last
	}
	return read, max(end, r.div.reach()), end < r.upTo
}

// sql selects the rows of a segment. Parameters 1 to 3 are after, last and limit.
func (r *reading) sql(g *segment) string {
	var b strings.Builder
	b.WriteString("SELECT " + columns + " FROM " + g.name)
	n := 3
	also := func(condition string) {
		n++
		fmt.Fprintf(&b, condition, n)
	}
	if r.filter.Request != uuid.Nil {
		// A plan that was made while the segment was empty would go by the position for ever.
		b.WriteString(" WHERE position + 0 > $1 AND position + 0 <= $2")
		also(" AND request = $%d")
	} else {
		b.WriteString(" WHERE position > $1 AND position <= $2")
	}
	if r.filter.Account != "" {
		also(" AND account = $%d")
	}
	if len(r.filter.Kinds) > 0 {
		also(" AND kind = ANY($%d)")
	}
	b.WriteString(" ORDER BY position LIMIT $3")
	return b.String()
}

// args are the parameters of sql.
func (r *reading) args(want int) []any {
	args := []any{int64(r.at), int64(r.upTo), want}
	if r.filter.Request != uuid.Nil {
		args = append(args, [16]byte(r.filter.Request))
	}
	if r.filter.Account != "" {
		args = append(args, []byte(r.filter.Account))
	}
	if len(r.filter.Kinds) > 0 {
		args = append(args, r.kinds())
	}
	return args
}

func (r *reading) kinds() []int32 {
	kinds := make([]int32, len(r.filter.Kinds))
	for i, k := range r.filter.Kinds {
		kinds[i] = int32(k)
	}
	return kinds
}
