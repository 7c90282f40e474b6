package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/events"
)

// idSlack is how much later than it was recorded an event's id may say it was
// made: the clocks of writers and of the database differ.
const idSlack = 48 * time.Hour

// past knows when each whole segment ended, so that ids made later are not
// looked for in it: whoever appends looks every id up, and there may be
// hundreds of segments.
type past struct {
	ends  []end           // in order
	reach events.Position // the end of the segment that the head is in
}

type end struct {
	position events.Position
	at       events.Time
}

func (p *past) read(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT s.last, (SELECT recorded_at FROM events WHERE position = s.last)
		FROM segments s WHERE NOT s.leaving AND s.first <= (SELECT position FROM head) + 1 ORDER BY s.last`)
	if err != nil {
		return fmt.Errorf("read segments: %w", err)
	}
	*p = past{}
	var last int64
	var at *int64
	_, err = pgx.ForEachRow(rows, []any{&last, &at}, func() error {
		if at != nil {
			p.ends = append(p.ends, end{events.Position(last), events.Time(*at)})
		}
		p.reach = events.Position(last)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read segments: %w", err)
	}
	return nil
}

// floor is a position that no id of the batch can stand at or before.
func (p *past) floor(batch []events.Record) (floor events.Position) {
	oldest := events.Time(1<<63 - 1)
	for i := range batch {
		oldest = min(oldest, madeAt(batch[i].ID))
	}
	for _, e := range p.ends {
		if e.at.Add(idSlack) >= oldest {
			break
		}
		floor = e.position
	}
	return floor
}

// madeAt is when an id was made: a UUIDv7 says so; of another nothing is known.
func madeAt(id uuid.UUID) events.Time {
	if id.Version() != 7 {
		return 0
	}
	sec, nsec := id.Time().UnixTime()
	return events.At(time.Unix(sec, nsec))
}
