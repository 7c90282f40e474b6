package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	zs "zombiezen.com/go/sqlite"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// blockSize is how many positions share their entries in account_events.
const blockSize = ledger.EntryBlock

// block collects the accounts of the positions behind the last whole block.
type block struct{ accounts []int64 }

// resume reads the block at hand. Positions that are archived count as of no
// account.
func (b *block) resume(c *zs.Conn, head events.Position) error {
	b.accounts = b.accounts[:0]
	start := head / blockSize * blockSize
	s, err := c.Prepare("SELECT position, account FROM events WHERE position > ? ORDER BY position")
	if err != nil {
		return err
	}
	s.BindInt64(1, int64(start))
	for {
		more, err := s.Step()
		if err != nil || !more {
			return finish(s, err)
		}
		gone := s.ColumnInt64(0) - int64(start) - 1 - int64(len(b.accounts))
		b.accounts = append(append(b.accounts, make([]int64, gone)...), s.ColumnInt64(1))
	}
}

// add notes the account of a position, and writes the entries of a block that
// is whole.
func (b *block) add(c *zs.Conn, p events.Position, account int64) error {
	b.accounts = append(b.accounts, account)
	if len(b.accounts) < blockSize {
		return nil
	}
	offsets := map[int64][]byte{}
	for i, a := range b.accounts {
		if a != 0 {
			offsets[a] = binary.BigEndian.AppendUint16(offsets[a], uint16(i))
		}
	}
	b.accounts = b.accounts[:0]
	ins, err := c.Prepare("INSERT INTO account_events (account, block, offsets) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	for a, list := range offsets {
		ins.BindInt64(1, a)
		ins.BindInt64(2, int64(p/blockSize-1))
		ins.BindBytes(3, list)
		if err := run(ins); err != nil {
			return fmt.Errorf("entries of block %d: %w", p/blockSize-1, err)
		}
	}
	return nil
}

// ofAccount reads an account's rows: by their entries in the whole blocks, by
// looking behind them.
func (q *query) ofAccount(c *zs.Conn, want int, p *page) error {
	h, err := readHead(c)
	if err != nil {
		return err
	}
	whole := h.Position / blockSize * blockSize
	if q.after < whole {
		if err := q.byEntries(c, want, p); err != nil {
			return err
		}
	}
	if len(p.rows) < want && q.last() > int64(whole) {
		return q.scan(c, max(q.after, whole), want-len(p.rows), p)
	}
	return nil
}

// byEntries reads the rows that account_events names.
func (q *query) byEntries(c *zs.Conn, want int, p *page) error {
	list, err := c.Prepare("SELECT block, offsets FROM account_events" +
		" WHERE account = (SELECT id FROM accounts WHERE name = ?) AND block BETWEEN ? AND ? ORDER BY block")
	if err != nil {
		return err
	}
	list.BindText(1, q.filter.Account)
	list.BindInt64(2, int64(q.after/blockSize))
	list.BindInt64(3, (q.last()-1)/blockSize)
	var offsets []byte
	for len(p.rows) < want {
		more, err := list.Step()
		if err != nil || !more {
			return finish(list, err)
		}
		offsets = slices.Grow(offsets[:0], list.ColumnLen(1))[:list.ColumnLen(1)]
		list.ColumnBytes(1, offsets)
		if err := q.ofBlock(c, events.Position(list.ColumnInt64(0)), offsets, want, p); err != nil {
			return finish(list, err)
		}
	}
	return finish(list, nil)
}

// ofBlock reads the rows of one block's entry.
func (q *query) ofBlock(c *zs.Conn, block events.Position, offsets []byte, want int, p *page) error {
	row, err := c.Prepare("SELECT " + columns + " FROM events WHERE position = ?")
	if err != nil {
		return err
	}
	for ; len(offsets) > 1 && len(p.rows) < want; offsets = offsets[2:] {
		at := block*blockSize + 1 + events.Position(binary.BigEndian.Uint16(offsets))
		if at <= q.after || int64(at) > q.last() {
			continue
		}
		row.BindInt64(1, int64(at))
		found, err := row.Step()
		if found {
			if got := p.load(row); len(q.filter.Kinds) > 0 && !slices.Contains(q.filter.Kinds, got.Kind) {
				p.rows = p.rows[:len(p.rows)-1]
			}
		}
		if err := finish(row, err); err != nil {
			return err
		}
	}
	return nil
}

// everyEntry goes from account to account, by those that have entries, not by
// those that have names.
const everyEntry = "WITH RECURSIVE a(id) AS (SELECT min(account) FROM account_events UNION ALL" +
	" SELECT (SELECT min(account) FROM account_events WHERE account > a.id) FROM a WHERE a.id IS NOT NULL)" +
	" SELECT e.block, coalesce(n.name, 'without a name, number ' || a.id), e.offsets FROM a" +
	" CROSS JOIN account_events e ON e.account = a.id AND e.block BETWEEN ? AND ? LEFT JOIN accounts n ON n.id = a.id"

// Entries implements ledger.Entries.
func (r *reads) Entries(ctx context.Context, first, last uint64, fn func(block uint64, account string, offsets []byte) error) (span ledger.Span, err error) {
	err = r.with(ctx, func(c *zs.Conn) error {
		h, err := readHead(c)
		if err != nil {
			return err
		}
		span.Last = h.Position / blockSize * blockSize
		if err := eachEntry(c, first, last, fn); err != nil {
			return err
		}
		runs, err := archivedRuns(c) // asked last: what left meanwhile was missing
		l := ledger.Layout{Archived: runs}
		span.First = l.Anchor().Position + 1
		return err
	})
	return span, err
}

func eachEntry(c *zs.Conn, first, last uint64, fn func(block uint64, account string, offsets []byte) error) error {
	s, err := c.Prepare(everyEntry)
	if err != nil {
		return err
	}
	s.BindInt64(1, int64(first))
	s.BindInt64(2, int64(last))
	var offsets []byte
	for {
		more, err := s.Step()
		if err != nil || !more {
			return finish(s, err)
		}
		offsets = slices.Grow(offsets[:0], s.ColumnLen(2))[:s.ColumnLen(2)]
		s.ColumnBytes(2, offsets)
		if err := fn(uint64(s.ColumnInt64(0)), s.ColumnText(1), offsets); err != nil {
			return finish(s, err)
		}
	}
}
