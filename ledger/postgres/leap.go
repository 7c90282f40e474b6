package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// leap is a commit in one statement, and so in one round trip: for a process that
// is alone and knows the head, the clock and that the ids are new. The statement
// does nothing where the head has moved, or where the time is not the database's
// within a tenth of a second. It is a transaction of its own.
func leap(segment string) string {
	return `WITH h AS (UPDATE head SET position = $16::bigint, recorded_at = $17::bigint, hash = $18::bytea
		WHERE position = $19::bigint AND hash = $20::bytea
		AND abs((extract(epoch FROM clock_timestamp()) * 1000000)::bigint - $17::bigint) < 100000 RETURNING 1)
		INSERT INTO ` + segment + " (" + columns + ") " + values + " WHERE EXISTS (SELECT FROM h)"
}

// leap appends a batch whose ids are new where the head is believed to be. left
// is the head it leaves, zero when nothing was done.
func (a *appender) leap(ctx context.Context, batch []events.Record) (results []ledger.Result, left ledger.Head, err error) {
	k := &a.alone
	now, ok := k.clock.now(time.Now())
	if !ok || !a.near.holds(k.head.Position+1, k.head.Position+events.Position(len(batch))) {
		return nil, left, nil
	}
	a.write(batch)
	results, left = a.place(batch, opening{head: k.head, now: now, fresh: true})
	params := append(append(a.params(), moveParams(left)...), binary.BigEndian.AppendUint64(nil, uint64(k.head.Position)), k.head.Hash[:])
	got, err := a.round(ctx, call{"leap", params})
	if err != nil {
		return nil, left, err
	}
	switch n := got[0].CommandTag.RowsAffected(); n {
	case int64(len(batch)):
		a.end(k.head, left)
		return results, left, nil
	case 0: // others have appended, or the clock was set
		a.alone = alone{}
		return nil, ledger.Head{}, nil
	default:
		return nil, left, fmt.Errorf("%d of %d events were inserted", n, len(batch))
	}
}
