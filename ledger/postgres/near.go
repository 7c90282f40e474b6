package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/events"
)

// The statements that go by way of the whole table.
const (
	probeAll  = "probe"
	insertAll = "insert"
)

const (
	// idSlack is how far the clock by which an id was made may have been ahead of
	// the database's; Waybill serves nobody with clocks that differ by much less.
	idSlack = time.Hour
	// nearTime is how much of the newest past the near segments cover.
	nearTime = 2 * idSlack
)

// near are the segments that events go to and that their ids may be in: the
// one behind the head and those before it that reach back far enough.
// Statements that name them cost what they would on a single table; by way of
// the whole one, the server opens every segment in every commit. The zero near
// is none.
type near struct {
	since  events.Time     // ids made after it, with slack, are in none before
	first  events.Position // of the segment behind the head
	last   events.Position // of it
	passed bool            // the head has reached its end
	ready  bool
}

// probe is the statement that finds the batch's ids where they may be.
func (n *near) probe(batch []events.Record) string {
	if !n.ready {
		return probeAll
	}
	if n.since != 0 {
		oldest := n.since.Add(idSlack)
		for i := range batch {
			if madeAt(batch[i].ID) <= oldest {
				return probeAll
			}
		}
	}
	return "probe_near"
}

// insert is the statement that takes these positions.
func (n *near) insert(first, last events.Position) string {
	if !n.holds(first, last) {
		return insertAll
	}
	return "insert_near"
}

// holds says whether positions are in the segment behind the head.
func (n *near) holds(first, last events.Position) bool {
	return n.ready && n.first <= first && last <= n.last
}

// madeAt is when an id was made: a UUIDv7 says so; of another nothing is known.
func madeAt(id uuid.UUID) events.Time {
	if id.Version() != 7 {
		return 0
	}
	ms := int64(id[0])<<40 | int64(id[1])<<32 | int64(id[2])<<24 | int64(id[3])<<16 | int64(id[4])<<8 | int64(id[5])
	return events.Time(ms * 1000)
}

// approach finds the near segments, when there are others than before.
func (a *appender) approach(ctx context.Context) error {
	if a.near.ready && !a.near.passed {
		return nil
	}
	a.near = near{}
	rows, err := a.conn.Query(ctx, `SELECT s.name, s.first, s.last, h.recorded_at,
		coalesce((SELECT recorded_at FROM events WHERE position = s.first - 1), (SELECT recorded_at FROM archived WHERE last = s.first - 1), 0)
		FROM segments s, head h WHERE NOT s.leaving AND s.first <= h.position + 1 ORDER BY s.first DESC`)
	if err != nil {
		return fmt.Errorf("read segments: %w", err)
	}
	var names []string
	var n near
	var name string
	var first, last, now, since int64
	_, err = pgx.ForEachRow(rows, []any{&name, &first, &last, &now, &since}, func() error {
		if names == nil {
			n.first, n.last = events.Position(first), events.Position(last)
		} else if n.since == 0 || n.since.Add(nearTime) < events.Time(now) {
			return nil
		}
		names, n.since = append(names, pgx.Identifier{name}.Sanitize()), events.Time(since)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read segments: %w", err)
	}
	if len(names) == 0 {
		return nil
	}
	return a.settle(ctx, n, names)
}

// settle prepares the statements of the near segments.
func (a *appender) settle(ctx context.Context, n near, names []string) error {
	probes := make([]string, len(names))
	for i, name := range names {
		probes[i] = "SELECT " + columns + " FROM " + name + " WHERE id = ANY($1::uuid[])"
	}
	for name, sql := range map[string]string{
		"probe_near":  strings.Join(probes, " UNION ALL "),
		"insert_near": "INSERT INTO " + names[0] + " (" + columns + ") " + values,
		"leap":        leap(names[0]),
	} {
		if err := a.conn.Deallocate(ctx, name); err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
		if _, err := a.conn.Prepare(ctx, name, sql); err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
	}
	n.ready = true
	a.near = n
	return nil
}
