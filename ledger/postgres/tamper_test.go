package postgres_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	server "github.com/waybill/waybill/test/postgres"
)

// owned is a store whose database somebody else owns.
type owned struct {
	*postgres.Store
	owner *pgx.Conn
}

// Tamper implements ledgertest.Tamperer.
func (o owned) Tamper(t *testing.T, sql string) {
	t.Helper()
	exec(t, o.owner, strings.NewReplacer("$EVENTS", "events", "$ID", "gen_random_uuid()", "$HEX'", `'\x`, "$NOBODY", "'nobody'::bytea").Replace(sql))
}

// Settle implements ledgertest.Tamperer.
func (o owned) Settle(t *testing.T) {
	t.Helper()
	settle(t, o.owner)
}

// settle waits until the accounts of all whole blocks are entered.
func settle(t *testing.T, c *pgx.Conn) {
	t.Helper()
	for deadline := time.Now().Add(soon); ; time.Sleep(time.Millisecond) { // another connection enters them
		var done bool
		err := c.QueryRow(t.Context(), "SELECT coalesce(max(block) + 1, 0) = (SELECT position / 4096 FROM head) FROM account_events").Scan(&done)
		switch {
		case err != nil:
			t.Fatal(err)
		case done:
			return
		case time.Now().After(deadline):
			t.Fatal("accounts are not entered")
		}
	}
}

func TestVerifyFindsWhateverItsOwnerDid(t *testing.T) {
	ledgertest.RunTamper(t, func(t *testing.T) ledgertest.Tamperer {
		o := postgres.Options{URL: server.URL(t), Schema: server.Schema(), Segment: ledgertest.SegmentSize}
		s := mustOpen(t, o)
		t.Cleanup(func() { s.Close() })
		c := connect(t, o.Schema)
		exec(t, c, `DO $$ DECLARE r record; BEGIN
			FOR r IN SELECT relid::regclass AS name FROM pg_partition_tree('events') UNION VALUES ('head'::regclass), ('account_events') LOOP
				EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', r.name);
			END LOOP; END $$`)
		return owned{s, c}
	})
}

func TestAPrivilegeOnOneSegmentIsSeen(t *testing.T) {
	owner, app := roles(t)
	o := postgres.Options{URL: app, Owner: owner, Schema: server.Schema()}
	if s := mustOpen(t, o); !s.Roles().Separate {
		t.Errorf("%+v", s.Roles())
	} else {
		s.Close()
	}
	admin := connect(t, o.Schema)
	exec(t, admin, "GRANT DELETE ON events_1 TO "+userOf(t, app))
	s := mustOpen(t, o)
	defer s.Close()
	if s.Roles().Separate {
		t.Error("a role that may delete from a segment passes")
	}
}

func userOf(t *testing.T, url string) string {
	t.Helper()
	c, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return c.User
}

func TestAnImportIsTheSameByteForByte(t *testing.T) {
	from := ledgertest.NewMemory()
	for range 23 {
		if _, err := from.Commit(t.Context(), ledgertest.NewMaker().Records(100)); err != nil {
			t.Fatal(err)
		}
	}
	var out, again bytes.Buffer
	if _, err := archive.Write(t.Context(), from, 0, 0, &out, nil); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, postgres.Options{Schema: server.Schema(), Segment: ledgertest.SegmentSize})
	defer s.Close()
	for _, known := range []uint64{0, 2300} {
		span, err := archive.Read(t.Context(), s, bytes.NewReader(out.Bytes()), nil)
		if err != nil || span.To != 2300 || span.Known != known {
			t.Fatalf("%+v %v", span, err)
		}
	}
	if _, err := archive.Write(t.Context(), s, 0, 0, &again, nil); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("it differs: %v", err)
	}
	g := ledgertest.NewMaker()
	if res, err := s.Commit(t.Context(), g.Records(1)); err != nil || res[0].Position != 2301 {
		t.Errorf("appends go on: %+v %v", res, err)
	}
	var row ledger.Row
	err := from.Scan(t.Context(), 7, ledger.Filter{}, 1, func(r *ledger.Row) error { row = *r; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(t.Context(), []ledger.Row{row}); err == nil {
		t.Error("a row that does not follow was restored")
	}
	if res, err := s.Commit(t.Context(), []events.Record{row.Record}); err != nil || !res[0].Known {
		t.Errorf("%+v %v", res, err)
	}
}
