package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybill/waybill/events"
)

// segment is a part of the events, under the name of its own that readers call
// it by: by way of the whole table the server opens every one.
type segment struct {
	name        string // quoted
	first, last events.Position
	whole       bool // the head has passed it: nothing of it changes any more, and the rest is known

	begun, ended events.Time // when its first and its last event were recorded
	asked        bool        // some of its events are of requests
	least, most  uuid.UUID   // those requests
}

// mayHold says whether events of a request can be in it.
func (g *segment) mayHold(request uuid.UUID) bool {
	return !g.whole || g.asked && bytes.Compare(g.least[:], request[:]) <= 0 && bytes.Compare(request[:], g.most[:]) <= 0
}

// division is how the live events were divided when somebody looked: segments
// that are empty are in none.
type division struct {
	anchor   events.Position // what is up to it is archived
	segments []segment       // in order
}

// reach is the last position that has a place in it.
func (d *division) reach() events.Position {
	if n := len(d.segments); n > 0 {
		return d.segments[n-1].last
	}
	return d.anchor
}

// behind is the number of the first segment with positions behind one.
func (d *division) behind(at events.Position) int {
	i, _ := slices.BinarySearchFunc(d.segments, at, func(g segment, at events.Position) int {
		if g.last > at {
			return 1
		}
		return -1
	})
	return i
}

// undivided is a ledger of a schema without segments.
var undivided = division{segments: []segment{{name: "events", first: 1, last: 1<<63 - 2}}}

// division is the one last seen.
func (s *Store) division(ctx context.Context) (*division, error) {
	switch d := s.seen.Load(); {
	case !s.divided:
		return &undivided, nil
	case d != nil:
		return d, nil
	}
	return s.divide(ctx)
}

// divide looks again. What is known of whole segments is not asked for twice.
func (s *Store) divide(ctx context.Context) (*division, error) {
	if !s.divided {
		return &undivided, nil
	}
	for again := false; ; again = true {
		d, err := s.look(ctx)
		if undefinedTable(err) && !again { // one was removed meanwhile
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read segments: %w", err)
		}
		s.seen.Store(d)
		return d, nil
	}
}

func (s *Store) look(ctx context.Context) (*division, error) {
	rows, err := s.pool.Query(ctx, `SELECT a.last, h.position, s.name, s.first, s.last
		FROM head h CROSS JOIN (SELECT coalesce(max(last), 0) AS last FROM archived) a
		LEFT JOIN segments s ON s.first > a.last AND s.first <= h.position ORDER BY s.first`)
	if err != nil {
		return nil, err
	}
	d := &division{}
	var anchor, head int64
	var name *string
	var first, last *int64
	_, err = pgx.ForEachRow(rows, []any{&anchor, &head, &name, &first, &last}, func() error {
		d.anchor = events.Position(anchor)
		if name != nil {
			d.segments = append(d.segments, segment{name: pgx.Identifier{*name}.Sanitize(), first: events.Position(*first), last: events.Position(*last), whole: *last <= head})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, s.know(ctx, d)
}

// know reads what there is to know of whole segments, unless it is known.
func (s *Store) know(ctx context.Context, d *division) error {
	b := &pgx.Batch{}
	before := s.seen.Load()
	for i := range d.segments {
		g := &d.segments[i]
		if before != nil {
			if n := before.behind(g.first); n < len(before.segments) && before.segments[n].name == g.name && before.segments[n].whole {
				*g = before.segments[n]
			}
		}
		if !g.whole || g.ended != 0 {
			continue
		}
		end := "(SELECT recorded_at FROM " + g.name + " ORDER BY position %s LIMIT 1), (SELECT request FROM " + g.name + " WHERE request IS NOT NULL ORDER BY request %[1]s LIMIT 1)"
		b.Queue(fmt.Sprintf("SELECT "+end, "ASC") + fmt.Sprintf(", "+end, "DESC")).QueryRow(func(row pgx.Row) error {
			var begun, ended *int64
			var least, most *[16]byte
			if err := row.Scan(&begun, &least, &ended, &most); err != nil {
				return err
			}
			if begun != nil && ended != nil { // else somebody emptied it: there is nothing to find
				g.begun, g.ended = events.Time(*begun), events.Time(*ended)
			}
			if g.asked = least != nil && most != nil; g.asked {
				g.least, g.most = *least, *most
			}
			return nil
		})
	}
	if b.Len() == 0 {
		return nil
	}
	return s.pool.SendBatch(ctx, b).Close()
}

func undefinedTable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42P01"
}
