package postgres_test

import (
	"errors"
	"slices"
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

// unentered is a ledger whose accounts nobody enters but the connection.
type unentered struct {
	*postgres.Store
	o    postgres.Options
	conn *pgx.Conn
}

// filled is one of n events, in segments that do not end where blocks do.
func filled(t *testing.T, n int) unentered {
	t.Helper()
	u := unentered{o: postgres.Options{Schema: server.Schema(), Segment: 1500}}
	mustOpen(t, u.o).Close()
	u.conn = connect(t, u.o.Schema)
	exec(t, u.conn, "SELECT pg_advisory_lock('account_events'::regclass::oid::bigint)")
	u.Store = mustOpen(t, u.o)
	t.Cleanup(func() { u.Close() })
	for g := ledgertest.NewMaker(); n > 0; n -= 1000 {
		if _, err := u.Commit(t.Context(), g.Records(min(n, 1000))); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// enter says how far the accounts are entered then.
func (u unentered) enter(t *testing.T, blocks int) (reach *int64) {
	t.Helper()
	if err := u.conn.QueryRow(t.Context(), "SELECT index_accounts($1)", blocks).Scan(&reach); err != nil {
		t.Fatal(err)
	}
	return reach
}

func TestAnAccountIsFoundHoweverFarItsEntriesGo(t *testing.T) {
	u := filled(t, 2*ledger.EntryBlock+112)
	ledgertest.RunFilters(t, u)
	for _, want := range []int64{1, 2, 2} {
		if reach := u.enter(t, 1); reach == nil || *reach != want*ledger.EntryBlock {
			t.Fatalf("%v, want %d blocks", reach, want)
		}
		ledgertest.RunFilters(t, u)
		if v, err := ledger.Verify(t.Context(), u, ledger.VerifyOptions{}); err != nil || v.Fault != nil {
			t.Fatalf("with %d blocks: %v %v", want, v.Fault, err)
		}
	}
}

// The server puts what it gathers of an account in any order.
func TestEntriesInAnyOrderAreTheSame(t *testing.T) {
	u := filled(t, ledger.EntryBlock+1000)
	u.enter(t, 1)
	exec(t, u.conn, "ALTER TABLE account_events DISABLE TRIGGER USER")
	exec(t, u.conn, `UPDATE account_events SET offsets = (SELECT string_agg(substr(offsets, 2 * i + 1, 2), ''::bytea ORDER BY i % 7, i DESC)
		FROM generate_series(0, length(offsets) / 2 - 1) i) WHERE length(offsets) > 0`)
	ledgertest.RunFilters(t, u)
	if v, err := ledger.Verify(t.Context(), u, ledger.VerifyOptions{}); err != nil || v.Fault != nil {
		t.Errorf("%v %v", v.Fault, err)
	}
}

func TestAnEntryThatLiesGivesNoOthersEvents(t *testing.T) {
	u := filled(t, ledger.EntryBlock)
	exec(t, u.conn, "ALTER TABLE events_1 DISABLE TRIGGER USER")
	exec(t, u.conn, "UPDATE events_1 SET account = '' WHERE position = 7")
	if reach := u.enter(t, 1); reach == nil || *reach != ledger.EntryBlock {
		t.Fatalf("an account that no append stores: %v", reach)
	}
	exec(t, u.conn, "ALTER TABLE account_events DISABLE TRIGGER USER")
	exec(t, u.conn, `UPDATE account_events SET offsets = '\x000000010002000300040005000a000b000c' WHERE account = 'account-3'`)
	err := u.Scan(t.Context(), 0, ledger.Filter{Account: "account-3"}, 0, func(r *ledger.Row) error {
		if r.Account != "account-3" {
			t.Errorf("%d is of %s", r.Position, r.Account)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestEntriesLeaveWithWhatIsArchived(t *testing.T) {
	u := filled(t, 4*ledger.EntryBlock)
	u.enter(t, 2)
	blocks := func() (first, last, count int) {
		t.Helper()
		err := u.conn.QueryRow(t.Context(), "SELECT coalesce(min(block), 0), coalesce(max(block), 0), count(DISTINCT block) FROM account_events").Scan(&first, &last, &count)
		if err != nil {
			t.Fatal(err)
		}
		return first, last, count
	}
	for _, want := range []struct {
		to                 events.Position
		first, last, count int // of the blocks
	}{{4500, 1, 1, 1}, {9000, 0, 0, 0}} { // the second leaves nothing behind, and ends within the third
		if _, err := archive.Run(t.Context(), u, archive.Options{Dir: t.TempDir(), Size: 1500, Now: time.Now, To: want.to}); err != nil {
			t.Fatal(err)
		}
		if first, last, count := blocks(); first != want.first || last != want.last || count != want.count {
			t.Errorf("archived to %d: blocks %d to %d, %d of them", want.to, first, last, count)
		}
	}
	u.enter(t, 9)
	if first, last, count := blocks(); first != 2 || last != 3 || count != 2 {
		t.Errorf("entered again: blocks %d to %d, %d of them", first, last, count)
	}
	found := map[string]int{}
	count := func(by string) func(*ledger.Row) error {
		return func(r *ledger.Row) error { found[by+r.Account]++; return nil }
	}
	if err := errors.Join(u.Scan(t.Context(), 9000, ledger.Filter{}, 0, count("all ")),
		u.Scan(t.Context(), 9000, ledger.Filter{Account: "account-3"}, 0, count(""))); err != nil || found["account-3"] == 0 || found["account-3"] != found["all account-3"] {
		t.Errorf("%v %v", found, err)
	}
	if v, err := ledger.Verify(t.Context(), archive.Over(u, archive.NewPast()), ledger.VerifyOptions{}); err != nil || v.Fault != nil {
		t.Errorf("%v %v", v.Fault, err)
	}
}

func TestOneAtATimeEntersAccounts(t *testing.T) {
	u := filled(t, 2*ledger.EntryBlock+8)
	other := connect(t, u.o.Schema)
	var reach *int64
	if err := other.QueryRow(t.Context(), "SELECT index_accounts(1)").Scan(&reach); err != nil || reach != nil {
		t.Errorf("beside another: %v %v", reach, err)
	}
	if reach := u.enter(t, 1000); reach == nil || *reach != 2*ledger.EntryBlock {
		t.Errorf("%v", reach)
	}
	for _, blocks := range []string{"0", "1001", "NULL"} {
		refused(t, other, "SELECT index_accounts("+blocks+")", "1 to 1000 blocks")
	}
}

func TestABlockOfNobodysEventsIsEnteredToo(t *testing.T) {
	o := postgres.Options{Schema: server.Schema()}
	s := mustOpen(t, o)
	defer s.Close()
	batch := ledgertest.NewMaker().Records(ledger.EntryBlock)
	for i := range batch {
		batch[i].Account = ""
	}
	if _, err := s.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	settle(t, connect(t, o.Schema))
}

func TestALedgerThatIsOpenedCatchesUp(t *testing.T) {
	u := filled(t, 17*ledger.EntryBlock+100) // more than one call enters
	exec(t, u.conn, "SELECT pg_advisory_unlock_all()")
	s := mustOpen(t, u.o)
	defer s.Close()
	settle(t, u.conn)
	if v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{}); err != nil || v.Fault != nil {
		t.Errorf("%v %v", v.Fault, err)
	}
}

func TestAReaderSeesWhatGrewIntoNewSegments(t *testing.T) {
	o := postgres.Options{Schema: server.Schema(), Segment: ledgertest.SegmentSize}
	s, g := mustOpen(t, o), ledgertest.NewMaker()
	defer s.Close()
	o.ReadOnly = true
	r := mustOpen(t, o)
	defer r.Close()
	names := []string{"all", "the newest request", "the account", "its kind", "since then", "the account since then", "until then"}
	for n := 1; n <= 5*len(names); n++ {
		batch := g.Records(100)
		res, err := s.Commit(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		last, at := &batch[99], res[99]
		filters := map[string]ledger.Filter{
			"all": {}, "the newest request": {Request: last.Request}, "the account": {Account: last.Account}, "its kind": {Kinds: []events.Kind{last.Kind}},
			"since then": {Since: at.RecordedAt}, "the account since then": {Account: last.Account, Since: at.RecordedAt}, "until then": {Until: at.RecordedAt + 1},
		}
		for i := range names { // each of them is the first to meet a new segment
			name := names[(i+n/5)%len(names)]
			f := filters[name]
			var seen []events.Position
			err := r.Scan(t.Context(), 0, f, 0, func(row *ledger.Row) error { seen = append(seen, row.Position); return nil })
			if err != nil || len(seen) == 0 || seen[len(seen)-1] != at.Position || !slices.IsSorted(seen) || (name == "all" || name == "until then") && len(seen) != n*100 || name == "since then" && len(seen) != 1 {
				t.Fatalf("%s at %d: %d events, %v", name, at.Position, len(seen), err)
			}
		}
	}
}

func TestEntriesAreNeitherChangedNorForgotten(t *testing.T) {
	owner, app := roles(t)
	o := postgres.Options{URL: app, Owner: owner, Schema: server.Schema(), RequireRoles: true}
	s, g := mustOpen(t, o), ledgertest.NewMaker()
	defer s.Close()
	for range 5 {
		if _, err := s.Commit(t.Context(), g.Records(1000)); err != nil {
			t.Fatal(err)
		}
	}
	c := connect(t, o.Schema)
	settle(t, c)
	changes := []string{"UPDATE account_events SET offsets = ''", "DELETE FROM account_events", "TRUNCATE account_events",
		"INSERT INTO account_events SELECT * FROM account_events ON CONFLICT (block, account) DO UPDATE SET offsets = ''"}
	for _, mode := range []string{"origin", "replica"} { // of a superuser
		exec(t, c, "SET session_replication_role = "+mode)
		for _, sql := range changes {
			refused(t, c, sql, "append-only")
		}
	}
	as, err := pgx.Connect(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	defer as.Close(t.Context())
	exec(t, as, "SET search_path = "+o.Schema)
	for _, sql := range append(changes, "INSERT INTO account_events VALUES (7, 'a', '')") {
		refused(t, as, sql, "permission denied")
	}
	exec(t, c, "GRANT INSERT ON account_events TO "+userOf(t, app))
	if s := mustOpen(t, postgres.Options{URL: app, Owner: owner, Schema: o.Schema}); s.Roles().Separate {
		t.Error("a role that may enter what it likes passes")
	} else {
		s.Close()
	}
}

func refused(t *testing.T, c *pgx.Conn, sql, says string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v", sql, err)
	}
}
