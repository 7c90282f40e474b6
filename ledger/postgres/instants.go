package postgres

import (
	"context"
	"sort"

	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/events"
)

// bound turns the filter's instants into positions.
func (r *reading) bound(ctx context.Context) error {
	var instants []events.Time
	for _, t := range []events.Time{r.filter.Since, r.filter.Until} {
		if t != 0 {
			instants = append(instants, t)
		}
	}
	if len(instants) == 0 {
		return nil
	}
	found, err := r.firstAt(ctx, instants)
	if err != nil {
		return err
	}
	if r.filter.Since != 0 {
		r.at = max(r.at, found[0]-1)
	}
	if r.filter.Until != 0 {
		r.upTo = min(r.upTo, found[len(found)-1]-1)
	}
	return nil
}

// firstAt are the first positions recorded at instants or later; one past the
// head when there is none yet. recorded_at grows with position, so the ends of
// the segments say which one it is in, and no index is needed to search that.
func (r *reading) firstAt(ctx context.Context, instants []events.Time) ([]events.Position, error) {
	for {
		found := make([]events.Position, len(instants))
		stale := false
		b := &pgx.Batch{}
		for i, t := range instants {
			r.seek(b, t, func(at, head events.Position) {
				if found[i] = at; at > head { // nothing is recorded then or later
					r.upTo = min(r.upTo, head)
				}
				stale = stale || at > r.div.reach() && head > r.div.reach()
			})
		}
		if b.Len() > 0 {
			if err := r.round(ctx, b); err != nil {
				return nil, err
			}
		}
		if !stale {
			return found, nil
		}
		if err := r.renew(ctx); err != nil {
			return nil, err
		}
	}
}

// seek finds an instant's position, by a statement of the batch where the ends
// of the segments do not say it.
func (r *reading) seek(b *pgx.Batch, t events.Time, found func(at, head events.Position)) {
	i := sort.Search(len(r.div.segments), func(i int) bool { return !r.div.segments[i].whole || r.div.segments[i].ended >= t })
	answer := func(row pgx.Row) error {
		var at, head int64
		err := row.Scan(&at, &head)
		found(events.Position(at), events.Position(head))
		return err
	}
	if i == len(r.div.segments) {
		b.Queue("SELECT $1::bigint, position FROM head", int64(r.div.reach())+1).QueryRow(answer)
		return
	}
	if g := &r.div.segments[i]; g.whole && g.begun >= t {
		found(g.first, g.last)
	} else {
		b.Queue(halve(g), int64(t), int64(g.first), int64(g.last)).QueryRow(answer)
	}
}

// halve searches a segment by halves, in the server: no round trip per step.
func halve(g *segment) string {
	return `WITH RECURSIVE h AS MATERIALIZED (SELECT position FROM head), s(lo, hi) AS (
		SELECT $2::bigint, least($3::bigint, (SELECT position FROM h)) + 1
		UNION ALL
		SELECT CASE WHEN at >= $1 THEN lo ELSE mid + 1 END, CASE WHEN at >= $1 THEN mid ELSE hi END
		FROM (SELECT lo, hi, (lo + hi) / 2 AS mid, (SELECT recorded_at FROM ` + g.name + ` WHERE position = (lo + hi) / 2) AS at
		      FROM s WHERE lo < hi) step
	) SELECT lo, (SELECT position FROM h) FROM s WHERE lo >= hi LIMIT 1`
}
