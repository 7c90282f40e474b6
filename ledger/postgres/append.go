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

// The statements of a commit, where leap will not do. Two round trips: the first takes the lock, reads
// the clock and, in a statement of its own and so behind everything committed
// before the lock was given, looks the ids up where they may be known; the second
// inserts, moves the head and commits.
var statements = map[string]string{
	"begin":    "BEGIN",
	"lock":     "WITH h AS MATERIALIZED (SELECT position, recorded_at, hash FROM head FOR UPDATE) SELECT position, recorded_at, hash, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM h",
	"probe":    "SELECT " + columns + " FROM events WHERE id = ANY($1::uuid[])",
	"greatest": "SELECT id FROM events ORDER BY id DESC LIMIT 1",
	"insert":   "INSERT INTO events (" + columns + ") " + values,
	"move":     "UPDATE head SET position = $1::bigint, recorded_at = $2::bigint, hash = $3::bytea",
	"commit":   "COMMIT",
}

// values are the rows of an insert, a column in each parameter. They are unnested
// side by side in the list of columns: in FROM each would first be stored as a
// table of its own.
const values = "SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::uuid[]), unnest($5::uuid[]), unnest($6::bigint[]), unnest($7::bytea[]), unnest($8::bigint[]), unnest($9::bytea[]), unnest($10::uuid[]), unnest($11::bigint[]), unnest($12::int[]), unnest($13::int[]), unnest($14::bytea[]), unnest($15::bytea[])"

// appender is the one connection that appends.
type appender struct {
	conn    *pgx.Conn
	content []events.Hash
	cols    [15]array
	ids     array
	near    near
	alone   alone
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

// trip is statements that are under way to the server, in one round trip.
type trip struct {
	pipeline *pgconn.Pipeline
	calls    int
	err      error
}

// send sends statements and does not wait for their results.
func (a *appender) send(ctx context.Context, calls ...call) *trip {
	t := &trip{pipeline: a.conn.PgConn().StartPipeline(ctx), calls: len(calls)}
	for _, c := range calls {
		t.pipeline.SendQueryPrepared(c.name, c.params, binaryFormat, binaryFormat)
	}
	t.err = t.pipeline.Sync()
	return t
}

// results waits for the results of all statements. The first error stands.
func (t *trip) results() ([]*pgconn.Result, error) {
	var results []*pgconn.Result
	err := t.err
	for err == nil {
		var got any
		if got, err = t.pipeline.GetResults(); err != nil {
			break
		}
		if _, end := got.(*pgconn.PipelineSync); end {
			break
		}
		r := got.(*pgconn.ResultReader).Read()
		results, err = append(results, r), r.Err
	}
	err = errors.Join(err, t.pipeline.Close())
	if err == nil && len(results) != t.calls {
		err = fmt.Errorf("%d results for %d statements", len(results), t.calls)
	}
	return results, err
}

// round is a round trip.
func (a *appender) round(ctx context.Context, calls ...call) ([]*pgconn.Result, error) {
	return a.send(ctx, calls...).results()
}

var binaryFormat = []int16{1}

// commit appends a batch in one transaction. The new head's position is
// returned, 0 when nothing was added. After an error the outcome is unknown
// and the appender must not be used again.
func (a *appender) commit(ctx context.Context, batch []events.Record) ([]ledger.Result, events.Position, error) {
	if err := a.approach(ctx); err != nil {
		return nil, 0, err
	}
	fresh := a.alone.note(batch)
	if fresh {
		results, left, err := a.leap(ctx, batch)
		if err != nil || left.Position != 0 {
			return results, left.Position, err
		}
	}
	o, err := a.begin(ctx, batch, fresh)
	if err != nil {
		return nil, 0, err
	}
	results, last := a.place(batch, o)
	calls := []call{{name: "commit"}}
	added := events.Position(0)
	if last != o.head {
		added = last.Position
		calls = []call{{a.near.insert(o.head.Position+1, last.Position), a.params()}, {"move", moveParams(last)}, {name: "commit"}}
	}
	got, err := a.round(ctx, calls...)
	if err != nil {
		return nil, 0, err
	}
	if tag := got[len(got)-1].CommandTag.String(); tag != "COMMIT" {
		return nil, 0, fmt.Errorf("commit answered %s", tag)
	}
	a.end(o.head, last)
	return results, added, nil
}

// end notes a commit.
func (a *appender) end(found, left ledger.Head) {
	a.near.passed = a.near.passed || left.Position >= a.near.last
	a.alone.committed(found, left)
}

// opening is what a commit finds under the lock.
type opening struct {
	head  ledger.Head
	now   events.Time // the database's clock
	fresh bool        // the batch's ids are new
	known map[uuid.UUID]place
}

// begin takes the lock. While the server is at it, the batch is hashed and
// written down as it will be inserted.
func (a *appender) begin(ctx context.Context, batch []events.Record, fresh bool) (o opening, err error) {
	asks := a.alone.asks()
	probe := a.near.probe(batch)
	calls := []call{{name: "begin"}, {name: "lock"}}
	if !fresh {
		calls = append(calls, call{probe, a.idsOf(batch)})
	}
	if asks {
		calls = append(calls, call{name: "greatest"})
	}
	t := a.send(ctx, calls...)
	a.write(batch)
	got, err := t.results()
	if err != nil {
		return o, err
	}
	if o.head, o.now, err = parseHead(got[1].Rows); err != nil {
		return o, err
	}
	a.alone.clock = carried{read: o.now, at: time.Now()}
	if asks {
		a.alone.learn(got[len(got)-1].Rows, batch)
	}
	var rows [][][]byte
	switch passed := probe != probeAll && o.head.Position > a.near.last; {
	case fresh && o.head == a.alone.head:
		o.fresh = true
		return o, nil
	case passed: // others have gone on into the next segment
		rows, err = a.probe(ctx, probeAll, batch)
	case fresh: // others have appended
		rows, err = a.probe(ctx, probe, batch)
	default:
		rows = got[2].Rows
	}
	if err != nil {
		return o, err
	}
	o.known, err = parseKnown(rows)
	return o, err
}

// probe looks the batch's ids up in a round trip of its own.
func (a *appender) probe(ctx context.Context, name string, batch []events.Record) ([][][]byte, error) {
	got, err := a.round(ctx, call{name, a.idsOf(batch)})
	if err != nil {
		return nil, err
	}
	return got[0].Rows, nil
}

// idsOf is the parameter of a probe.
func (a *appender) idsOf(batch []events.Record) [][]byte {
	a.ids.start(oidUUID)
	for i := range batch {
		a.ids.bytes(batch[i].ID[:])
	}
	return [][]byte{a.ids.done()}
}

func parseHead(rows [][][]byte) (h ledger.Head, now events.Time, err error) {
	if len(rows) != 1 {
		return h, 0, fmt.Errorf("%w: table head has %d rows", ledger.ErrBroken, len(rows))
	}
	h.Position = events.Position(binary.BigEndian.Uint64(rows[0][0]))
	h.RecordedAt = events.Time(binary.BigEndian.Uint64(rows[0][1]))
	copy(h.Hash[:], rows[0][2])
	return h, events.Time(binary.BigEndian.Uint64(rows[0][3])), nil
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

// write hashes the batch and fills the columns of the insert that do not depend
// on the head, as if every record were new.
func (a *appender) write(batch []events.Record) {
	a.content = a.content[:0]
	a.start()
	for i := range batch {
		a.content = append(a.content, batch[i].ContentHash())
		a.add(&batch[i])
	}
}

// place gives every record that is new its place behind the head. The columns of
// the insert are those of all records then, or are written again.
func (a *appender) place(batch []events.Record, o opening) ([]ledger.Result, ledger.Head) {
	head, known := o.head, o.known
	results := make([]ledger.Result, len(batch))
	all := o.fresh || known == nil && ascending(batch)
	if !all {
		a.start()
	}
	if known == nil && !all {
		known = make(map[uuid.UUID]place, len(batch))
	}
	for i := range batch {
		r := &batch[i]
		if p, ok := known[r.ID]; ok {
			if results[i] = p.result; p.content != a.content[i] {
				results[i] = ledger.Result{Err: ledger.ErrConflict}
			}
			continue
		}
		at := max(o.now, head.RecordedAt+1)
		head = ledger.Head{Position: head.Position + 1, RecordedAt: at, Hash: events.Chain(head.Hash, head.Position+1, at, a.content[i])}
		results[i] = ledger.Result{Position: head.Position, RecordedAt: head.RecordedAt, Hash: head.Hash}
		a.addPlace(&head)
		if !all {
			again := results[i]
			again.Known = true
			known[r.ID] = place{a.content[i], again}
			a.add(r)
		}
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

// add appends a record to the columns, in the order of columns.
func (a *appender) add(r *events.Record) {
	c := &a.cols
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
}

// addPlace appends a record's place to the columns that add leaves out.
func (a *appender) addPlace(h *ledger.Head) {
	a.cols[0].int8(int64(h.Position))
	a.cols[1].int8(int64(h.RecordedAt))
	a.cols[14].bytes(h.Hash[:])
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
