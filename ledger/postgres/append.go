package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// The statements of a commit. Two round trips: the first takes the lock and,
// in statements of their own and so behind everything committed before the
// lock was given, looks the ids up and reads the clock; the second inserts,
// moves the head and commits.
var statements = map[string]string{
	"begin":  "BEGIN",
	"lock":   "SELECT position, recorded_at, hash FROM head FOR UPDATE",
	"probe":  "SELECT " + columns + " FROM events WHERE id = ANY($1::uuid[])",
	"clock":  "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
	"insert": "INSERT INTO events (" + columns + ") " + values,
	"move":   "UPDATE head SET position = $1::bigint, recorded_at = $2::bigint, hash = $3::bytea",
	"commit": "COMMIT",
}

// values are the rows of an insert, a column in each parameter.
const values = "SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::uuid[], $5::uuid[], $6::bigint[], $7::bytea[], $8::bigint[], $9::bytea[], $10::uuid[], $11::bigint[], $12::int[], $13::int[], $14::bytea[], $15::bytea[])"

// appender is the one connection that appends.
type appender struct {
	conn *pgx.Conn
	cols [15]array
	ids  array
	near near
}

func openAppender(ctx context.Context, conf *pgx.ConnConfig) (*appender, error) {
	c := conf.Copy()
	c.RuntimeParams["synchronous_commit"] = "on"
	c.RuntimeParams["lock_timeout"] = "5s"
	c.RuntimeParams["idle_in_transaction_session_timeout"] = "5s"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	a := &appender{conn: conn}
	for name, sql := range statements {
		if _, err := conn.Prepare(ctx, name, sql); err != nil {
			a.close()
			return nil, fmt.Errorf("prepare %s: %w", name, err)
		}
	}
	return a, nil
}

func (a *appender) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = a.conn.Close(ctx) // it may be broken already
}

// call is one prepared statement with its parameters in binary.
type call struct {
	name   string
	params [][]byte
}

// round sends statements in one round trip and returns their results. The
// first error stands.
func (a *appender) round(ctx context.Context, calls ...call) ([]*pgconn.Result, error) {
	p := a.conn.PgConn().StartPipeline(ctx)
	for _, c := range calls {
		p.SendQueryPrepared(c.name, c.params, binaryFormat, binaryFormat)
	}
	err := p.Sync()
	var results []*pgconn.Result
	for err == nil {
		var got any
		if got, err = p.GetResults(); err != nil {
			break
		}
		if _, end := got.(*pgconn.PipelineSync); end {
			break
		}
		r := got.(*pgconn.ResultReader).Read()
		results, err = append(results, r), r.Err
	}
	err = errors.Join(err, p.Close())
	if err == nil && len(results) != len(calls) {
		err = fmt.Errorf("%d results for %d statements", len(results), len(calls))
	}
	return results, err
}

var binaryFormat = []int16{1}

// commit appends a batch in one transaction. The new head's position is
// returned, 0 when nothing was added. After an error the outcome is unknown
// and the appender must not be used again.
func (a *appender) commit(ctx context.Context, batch []events.Record, content []events.Hash) ([]ledger.Result, events.Position, error) {
	a.ids.start(oidUUID)
	for i := range batch {
		a.ids.bytes(batch[i].ID[:])
	}
	if err := a.approach(ctx); err != nil {
		return nil, 0, err
	}
	probe := a.near.probe(batch)
	got, err := a.round(ctx, call{name: "begin"}, call{name: "lock"}, call{probe, [][]byte{a.ids.done()}}, call{name: "clock"})
	if err != nil {
		return nil, 0, err
	}
	head, err := parseHead(got[1].Rows)
	if err != nil {
		return nil, 0, err
	}
	if probe != probeAll && head.Position > a.near.last { // others have gone on into the next segment
		again, err := a.round(ctx, call{probeAll, [][]byte{a.ids.done()}})
		if err != nil {
			return nil, 0, err
		}
		got[2] = again[0]
	}
	known, err := parseKnown(got[2].Rows)
	if err != nil {
		return nil, 0, err
	}
	now := events.Time(binary.BigEndian.Uint64(got[3].Rows[0][0]))
	results, last := a.place(batch, content, known, head, now)
	calls := []call{{name: "commit"}}
	added := events.Position(0)
	if last != head {
		added = last.Position
		calls = []call{{a.near.insert(head.Position+1, last.Position), a.params()}, {"move", moveParams(last)}, {name: "commit"}}
	}
	got, err = a.round(ctx, calls...)
	if err != nil {
		return nil, 0, err
	}
	if tag := got[len(got)-1].CommandTag.String(); tag != "COMMIT" {
		return nil, 0, fmt.Errorf("commit answered %s", tag)
	}
	a.near.passed = a.near.passed || max(head.Position, last.Position) >= a.near.last
	return results, added, nil
}

func parseHead(rows [][][]byte) (h ledger.Head, err error) {
	if len(rows) != 1 {
		return h, fmt.Errorf("%w: table head has %d rows", ledger.ErrBroken, len(rows))
	}
	h.Position = events.Position(binary.BigEndian.Uint64(rows[0][0]))
	h.RecordedAt = events.Time(binary.BigEndian.Uint64(rows[0][1]))
	copy(h.Hash[:], rows[0][2])
	return h, nil
}

// place is what an id already stands for.
type place struct {
	content events.Hash
	result  ledger.Result
}

func parseKnown(rows [][][]byte) (map[uuid.UUID]place, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	known := make(map[uuid.UUID]place, len(rows))
	for _, raw := range rows {
		var r ledger.Row
		if _, err := load(&r, raw, nil); err != nil {
			return nil, err
		}
		known[r.ID] = place{r.ContentHash(), ledger.Result{Position: r.Position, RecordedAt: r.RecordedAt, Hash: r.Hash, Known: true}}
	}
	return known, nil
}

// place gives every record that is new its place behind the head, and fills
// the columns of the insert.
func (a *appender) place(batch []events.Record, content []events.Hash, known map[uuid.UUID]place, head ledger.Head, now events.Time) ([]ledger.Result, ledger.Head) {
	a.start()
	results := make([]ledger.Result, len(batch))
	unordered := !ascending(batch)
	if known == nil && unordered {
		known = make(map[uuid.UUID]place, len(batch))
	}
	for i := range batch {
		r := &batch[i]
		if p, ok := known[r.ID]; ok {
			if results[i] = p.result; p.content != content[i] {
				results[i] = ledger.Result{Err: ledger.ErrConflict}
			}
			continue
		}
		head = ledger.Head{Position: head.Position + 1, RecordedAt: max(now, head.RecordedAt+1),
			Hash: events.Chain(head.Hash, head.Position+1, max(now, head.RecordedAt+1), content[i])}
		results[i] = ledger.Result{Position: head.Position, RecordedAt: head.RecordedAt, Hash: head.Hash}
		if unordered {
			again := results[i]
			again.Known = true
			known[r.ID] = place{content[i], again}
		}
		a.add(r, &head)
	}
	return results, head
}

// ascending ids cannot hold one twice.
func ascending(batch []events.Record) bool {
	for i := 1; i < len(batch); i++ {
		if string(batch[i-1].ID[:]) >= string(batch[i].ID[:]) {
			return false
		}
	}
	return true
}

func (a *appender) start() {
	for i, oid := range [...]uint32{oidInt8, oidInt8, oidInt8, oidUUID, oidUUID, oidInt8, oidBytea, oidInt8, oidBytea, oidUUID, oidInt8, oidInt4, oidInt4, oidBytea, oidBytea} {
		a.cols[i].start(oid)
	}
}

// add appends a row to the columns, in the order of columns.
func (a *appender) add(r *events.Record, h *ledger.Head) {
	c := &a.cols
	c[0].int8(int64(h.Position))
	c[1].int8(int64(h.RecordedAt))
	c[2].int8(int64(r.ObservedAt))
	c[3].bytes(r.ID[:])
	c[4].uuid(r.Writer)
	c[5].int8(int64(r.WriterSeq))
	c[6].text(r.Account)
	c[7].int8(int64(r.Epoch))
	c[8].text(r.Model)
	c[9].uuid(r.Request)
	c[10].int8(int64(r.Attempt))
	c[11].int4(int32(r.Kind))
	c[12].int4(int32(r.Version)<<8 | int32(r.Codec))
	c[13].bytes(r.Payload)
	c[14].bytes(h.Hash[:])
}

func (a *appender) params() [][]byte {
	all := make([][]byte, len(a.cols))
	for i := range a.cols {
		all[i] = a.cols[i].done()
	}
	return all
}

func moveParams(h ledger.Head) [][]byte {
	return [][]byte{
		binary.BigEndian.AppendUint64(nil, uint64(h.Position)),
		binary.BigEndian.AppendUint64(nil, uint64(h.RecordedAt)),
		h.Hash[:],
	}
}
