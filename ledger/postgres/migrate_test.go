package postgres_test

import (
	"context"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	"github.com/waybill/waybill/migrations"
	server "github.com/waybill/waybill/test/postgres"
)

// ofVersion makes a schema as a binary of some time ago did.
func ofVersion(t *testing.T, schema string, version int64) *pgx.Conn {
	t.Helper()
	c := connect(t, "public")
	exec(t, c, "CREATE SCHEMA "+schema)
	exec(t, c, "SET search_path = "+schema)
	conf, err := pgx.ParseConfig(server.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	conf.RuntimeParams["search_path"] = schema
	db := stdlib.OpenDB(*conf)
	defer db.Close()
	sql, err := fs.Sub(migrations.Postgres, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, sql, goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = p.UpTo(t.Context(), version)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// older is a ledger of the first schema, with n events, and a connection on it.
func older(t *testing.T, schema string, n int) (*pgx.Conn, []ledger.Row) {
	t.Helper()
	c := ofVersion(t, schema, 1)
	m := ledgertest.NewMemory()
	if _, err := m.Commit(t.Context(), ledgertest.NewMaker().Records(n)); err != nil {
		t.Fatal(err)
	}
	var rows []ledger.Row
	err := m.Scan(t.Context(), 0, ledger.Filter{}, 0, func(r *ledger.Row) error {
		rows = append(rows, *r)
		return put(t, c, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, rows
}

const oldInsert = "INSERT INTO events VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15)"

// put appends a row as a binary of that time did.
func put(t *testing.T, c *pgx.Conn, r *ledger.Row) error {
	t.Helper()
	_, err := c.Exec(t.Context(), oldInsert, int64(r.Position), int64(r.RecordedAt), int64(r.ObservedAt), [16]byte(r.ID), [16]byte(r.Writer), int64(r.WriterSeq),
		[]byte(r.Account), int64(r.Epoch), []byte(r.Model), [16]byte(r.Request), int64(r.Attempt), int32(r.Kind), int32(r.Version)<<8|int32(r.Codec), r.Payload, r.Hash[:])
	if err == nil {
		_, err = c.Exec(t.Context(), "UPDATE head SET position = $1, recorded_at = $2, hash = $3", int64(r.Position), int64(r.RecordedAt), r.Hash[:])
	}
	return err
}

func TestATableOfTheFirstSchemaBecomesTheFirstSegment(t *testing.T) {
	schema := server.Schema()
	c, rows := older(t, schema, 1201)
	var file, after uint32
	if err := c.QueryRow(t.Context(), "SELECT pg_relation_filenode('events')").Scan(&file); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, postgres.Options{Schema: schema, Segment: ledgertest.SegmentSize})
	defer s.Close()
	if err := c.QueryRow(t.Context(), "SELECT pg_relation_filenode('events_1')").Scan(&after); err != nil || after != file {
		t.Errorf("the table was written anew: %d, then %d, %v", file, after, err)
	}
	next := rows[1200] // a replica of the older version goes on with the statement that it prepared
	next.ID[15]++
	next.Position, next.RecordedAt = 1202, next.RecordedAt+1
	next.Hash = events.Chain(rows[1200].Hash, next.Position, next.RecordedAt, next.ContentHash())
	if err := put(t, c, &next); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), ledgertest.NewMaker().Records(900)); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Commit(t.Context(), []events.Record{rows[7].Record}); err != nil || !res[0].Known || res[0].Position != 8 {
		t.Errorf("an id of before: %+v %v", res, err)
	}
	v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{})
	if err != nil || v.Fault != nil || v.Positions != 2102 {
		t.Errorf("%+v %v", v, err)
	}
	l, err := s.Layout(t.Context(), 0)
	if err != nil || len(l.Whole) != 1 || l.Whole[0] != (ledger.Span{First: 1, Last: 2000}) {
		t.Errorf("%+v %v", l, err)
	}
}

func TestALedgerOfTheFirstSchemaIsReadAsItIs(t *testing.T) {
	schema := server.Schema()
	_, rows := older(t, schema, 300)
	s := mustOpen(t, postgres.Options{Schema: schema, ReadOnly: true})
	defer s.Close()
	mid := &rows[150]
	for name, f := range map[string]ledger.Filter{
		"all": {}, "a request": {Request: mid.Request}, "an account": {Account: mid.Account}, "no account": {Account: "nobody"}, "a kind": {Kinds: []events.Kind{mid.Kind}},
		"since": {Since: mid.RecordedAt}, "until": {Until: mid.RecordedAt}, "an account's time": {Account: mid.Account, Since: rows[20].RecordedAt, Until: mid.RecordedAt},
		"up to": {UpTo: 7}, "in the future": {Since: rows[299].RecordedAt + 1},
	} {
		var got, want []events.Position
		for i := range rows {
			if f.MatchRow(&rows[i]) {
				want = append(want, rows[i].Position)
			}
		}
		err := s.Scan(t.Context(), 0, f, 0, func(r *ledger.Row) error { got = append(got, r.Position); return nil })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d events, want %d, %v", name, len(got), len(want), err)
		}
	}
}

// Whoever waits for the lock of the index is waited for by appends in turn.
func TestTheIndexOfAccountsGoesWithoutStoppingAppendsForLong(t *testing.T) {
	schema := server.Schema()
	reading := ofVersion(t, schema, 5)
	exec(t, reading, "BEGIN")
	exec(t, reading, "SELECT count(*) FROM events WHERE account = 'a'")
	opened := make(chan error, 1)
	go func() {
		s, err := postgres.Open(context.Background(), postgres.Options{URL: server.URL(t), Schema: schema})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	look := connect(t, schema)
	waiting := func(want bool) {
		t.Helper()
		for deadline := time.Now().Add(soon); ; time.Sleep(time.Millisecond) { // nothing signals what another connection waits for
			var waits bool
			if err := look.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND relation = 'events'::regclass)").Scan(&waits); err != nil {
				t.Fatal(err)
			}
			if waits == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("the migration does not come to it, or does not let go")
			}
		}
	}
	waiting(true)
	waiting(false) // another may have its turn
	waiting(true)
	exec(t, reading, "ROLLBACK")
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	var there bool
	if err := look.QueryRow(t.Context(), "SELECT to_regclass('events_account') IS NOT NULL").Scan(&there); err != nil || there {
		t.Errorf("the index is there: %v %v", there, err)
	}
}
