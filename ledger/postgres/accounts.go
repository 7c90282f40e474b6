package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

const (
	// blocksAtOnce is how many blocks' entries one round trip looks up.
	blocksAtOnce = 64
	// enteredAtOnce is how many blocks one transaction enters.
	enteredAtOnce = 16
	// enterRest is the pause when another replica enters blocks, or none can be.
	enterRest = 250 * time.Millisecond
)

// reachSQL is how far the accounts' entries go.
const reachSQL = "SELECT coalesce((SELECT (block + 1) * 4096 FROM account_events ORDER BY block DESC LIMIT 1), 0)"

// entries are how a reading finds an account's events, as far as they are
// entered. The nil one knows of none.
type entries struct {
	looked bool
	reach  events.Position   // the last position that is entered
	queue  []events.Position // of the account, found and not read yet
	upTo   events.Position   // the queue holds all up to it
}

// names says whether positions are known that are to be read.
func (e *entries) names() bool { return e != nil && len(e.queue) > 0 }

// covers says whether what is next may be entered.
func (e *entries) covers(r *reading) bool {
	return e != nil && r.at < r.div.reach() && (!e.looked || r.at < e.reach)
}

// lookUp finds where the account's events are in the next blocks. How far the
// entries go is asked before they are: they only grow.
func (r *reading) lookUp(ctx context.Context) error {
	e := r.entries
	end := min(r.upTo, r.div.reach())
	b := &pgx.Batch{}
	if !e.looked {
		b.Queue(reachSQL).QueryRow(func(row pgx.Row) error {
			var reach int64
			err := row.Scan(&reach)
			e.looked, e.reach = err == nil, events.Position(reach)
			return err
		})
	} else {
		end = min(end, e.reach)
	}
	var blocks []int64
	for k := r.at / ledger.EntryBlock; k*ledger.EntryBlock < end && len(blocks) < blocksAtOnce; k++ {
		blocks = append(blocks, int64(k))
	}
	end = min(end, events.Position(blocks[len(blocks)-1]+1)*ledger.EntryBlock)
	b.Queue("SELECT block, offsets FROM account_events WHERE block = ANY($1) AND account = $2 ORDER BY block", blocks, []byte(r.filter.Account)).
		Query(func(rows pgx.Rows) error { return e.load(rows, r.at, end) })
	if err := r.round(ctx, b); err != nil {
		e.queue = e.queue[:0]
		return err
	}
	if e.upTo = min(end, e.reach); len(e.queue) == 0 {
		r.at = max(r.at, e.upTo)
	}
	return nil
}

// load takes the positions of entries behind one and up to another.
func (e *entries) load(rows pgx.Rows, after, upTo events.Position) error {
	e.queue = e.queue[:0]
	for rows.Next() {
		raw := rows.RawValues()
		e.take(events.Position(binary.BigEndian.Uint64(raw[0])), raw[1], after, upTo)
	}
	if !slices.IsSorted(e.queue) { // as a rule they are
		slices.Sort(e.queue)
	}
	return nil
}

// take takes those of one entry. What was entered after it was asked how far
// entries go is left to the scan of the rows behind them.
func (e *entries) take(block events.Position, offsets []byte, after, upTo events.Position) {
	for ; len(offsets) > 1; offsets = offsets[2:] {
		at := block*ledger.EntryBlock + 1 + events.Position(binary.BigEndian.Uint16(offsets))
		if at > after && at <= min(upTo, e.reach) {
			e.queue = append(e.queue, at)
		}
	}
}

// named reads rows that the entries name, those of one segment. The rows' own
// account counts: an entry that lies gives nothing that is not there.
func (r *reading) named(ctx context.Context, p *page, want int) error {
	e := r.entries
	g := &r.div.segments[r.div.behind(e.queue[0]-1)]
	var at []int64
	for _, position := range e.queue {
		if position > g.last || len(at) == want {
			break
		}
		at = append(at, int64(position))
	}
	sql := "SELECT " + columns + " FROM " + g.name + " WHERE position = ANY($1) AND account = $2"
	args := []any{at, []byte(r.filter.Account)}
	if len(r.filter.Kinds) > 0 {
		sql, args = sql+" AND kind = ANY($3)", append(args, r.kinds())
	}
	b := &pgx.Batch{}
	b.Queue(sql+" ORDER BY position", args...).Query(func(rows pgx.Rows) error { return p.load(rows, want) })
	if err := r.round(ctx, b); err != nil {
		return err
	}
	if e.queue = e.queue[len(at):]; len(e.queue) > 0 {
		r.at = events.Position(at[len(at)-1])
	} else {
		r.at = e.upTo
	}
	return nil
}

// Entries implements ledger.Entries.
func (s *Store) Entries(ctx context.Context, first, last uint64, fn func(block uint64, account string, offsets []byte) error) (span ledger.Span, err error) {
	if s.isClosed() {
		return span, ledger.ErrClosed
	}
	if !s.indexed {
		return span, nil
	}
	var reach, anchor int64
	b := &pgx.Batch{}
	b.Queue(reachSQL).QueryRow(func(row pgx.Row) error { return row.Scan(&reach) })
	b.Queue("SELECT block, account, offsets FROM account_events WHERE block >= $1 AND block <= $2 AND account <> ''::bytea", int64(first), int64(last)).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				raw := rows.RawValues()
				if err := fn(binary.BigEndian.Uint64(raw[0]), string(raw[1]), raw[2]); err != nil {
					return err
				}
			}
			return nil
		})
	b.Queue("SELECT coalesce(max(last), 0) FROM archived").QueryRow(func(row pgx.Row) error { return row.Scan(&anchor) })
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return span, fmt.Errorf("read account_events: %w", unavailable(err))
	}
	return ledger.Span{First: events.Position(anchor) + 1, Last: events.Position(reach)}, nil
}

// enter enters the accounts of whole blocks when one is not entered yet, as far
// as this process knows.
func (s *Store) enter() {
	if uint64(s.last)/ledger.EntryBlock > s.entered.Load()/ledger.EntryBlock {
		s.catchUp()
	}
}

// catchUp enters, in the background, all that can be: a ledger of an earlier
// schema has much of it.
func (s *Store) catchUp() {
	if !s.entering.CompareAndSwap(false, true) {
		return
	}
	s.maker.Go(func() {
		defer s.entering.Store(false)
		for s.enterSome(s.life) {
		}
	})
}

// enterSome enters a few blocks, and says whether there are more. Where it could
// not, the next commit tries again, not at once.
func (s *Store) enterSome(ctx context.Context) (more bool) {
	var reach *int64
	var head int64
	err := s.pool.QueryRow(ctx, "SELECT index_accounts($1), position FROM head", enteredAtOnce).Scan(&reach, &head)
	if err != nil || reach == nil {
		ledger.Rest(ctx, enterRest)
		return false
	}
	s.entered.Store(uint64(*reach))
	return head/ledger.EntryBlock > *reach/ledger.EntryBlock && ctx.Err() == nil
}
