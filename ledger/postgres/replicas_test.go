package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	server "github.com/waybill/waybill/test/postgres"
)

func connect(t *testing.T, schema string) *pgx.Conn {
	t.Helper()
	conf, err := pgx.ParseConfig(server.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	conf.RuntimeParams["search_path"] = schema
	c, err := pgx.ConnectConfig(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func exec(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

var errEnough = errors.New("enough")

// follow collects a follower's events until there are n.
func follow(ctx context.Context, l *ledger.Log, n int) ([]events.Event, error) {
	var seen []events.Event
	err := l.Follow(ctx, 0, func(run []events.Event) error {
		if seen = append(seen, run...); len(seen) >= n {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return seen, err
}

func TestReplicasAppendAndFollowWithoutAHole(t *testing.T) {
	o := postgres.Options{Schema: server.Schema()}
	var replicas []*ledger.Log
	for range 4 {
		l := ledger.Open(mustOpen(t, o))
		defer l.Close()
		replicas = append(replicas, l)
	}
	reader := mustOpen(t, postgres.Options{Schema: o.Schema, ReadOnly: true})
	defer reader.Close()
	ledgertest.RunCrowd(t, reader, replicas...)
}

// tables are the ledger's tables: the whole, every segment, and what is archived.
func tables(t *testing.T, c *pgx.Conn) []string {
	t.Helper()
	rows, err := c.Query(t.Context(), "SELECT relid::regclass::text FROM pg_partition_tree('events')")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 3 {
		t.Fatalf("%v %v", names, err)
	}
	return append(names, "archived")
}

// forgetting is what would change or remove what is stored.
func forgetting(table string) []string {
	return []string{"UPDATE " + table + " SET hash = ''", "DELETE FROM " + table, "DELETE FROM " + table + " WHERE false", "TRUNCATE " + table}
}

func TestTheDatabaseRefusesToForget(t *testing.T) {
	o := postgres.Options{Schema: server.Schema(), Segment: ledgertest.SegmentSize}
	s := mustOpen(t, o)
	defer s.Close()
	for range 6 { // into segments that were made later
		if _, err := s.Commit(t.Context(), ledgertest.NewMaker().Records(100)); err != nil {
			t.Fatal(err)
		}
	}
	c := connect(t, o.Schema)
	row := "INSERT INTO %s SELECT position, recorded_at, observed_at, id, writer, writer_seq, account, epoch, model, request, 9, kind, format, payload, hash FROM events WHERE position = %d ON CONFLICT (position) DO UPDATE SET attempt = 9"
	for _, mode := range []string{"origin", "replica"} { // of a superuser
		exec(t, c, "SET session_replication_role = "+mode)
		all := []string{"TRUNCATE head", "DELETE FROM head", fmt.Sprintf(row, "events", 1), fmt.Sprintf(row, "events_501", 501)}
		for _, table := range tables(t, c) {
			all = append(all, forgetting(table)...)
		}
		for _, sql := range all {
			if _, err := c.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s as %s: %v", sql, mode, err)
			}
		}
	}
}

// roles makes an owner and an application role, and their URLs.
func roles(t *testing.T) (owner, app string) {
	t.Helper()
	admin := connect(t, "public")
	name := server.Schema()
	for _, role := range []string{name + "_owner", name + "_app"} {
		exec(t, admin, "CREATE ROLE "+role+" LOGIN")
	}
	exec(t, admin, "GRANT CREATE ON DATABASE postgres TO "+name+"_owner")
	as := func(role string) string {
		u, err := url.Parse(server.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("user", role)
		u.RawQuery = q.Encode()
		u.User = nil
		return u.String()
	}
	return as(name + "_owner"), as(name + "_app")
}

func TestTwoRolesCannotForget(t *testing.T) {
	owner, app := roles(t)
	o := postgres.Options{URL: app, Owner: owner, Schema: server.Schema(), RequireRoles: true}
	s := mustOpen(t, o)
	defer s.Close()
	if r := s.Roles(); !r.Separate {
		t.Errorf("%+v", r)
	}
	if _, err := s.Commit(t.Context(), ledgertest.NewMaker().Records(3)); err != nil {
		t.Fatal(err)
	}
	for _, by := range []struct{ who, url, says string }{{"application", app, "permission denied"}, {"owner", owner, "append-only"}} {
		c, err := pgx.Connect(t.Context(), by.url)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		exec(t, c, "SET search_path = "+o.Schema)
		for _, table := range tables(t, c) {
			for _, sql := range forgetting(table) {
				if _, err := c.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), by.says) {
					t.Errorf("%s by the %s's role: %v", sql, by.who, err)
				}
			}
		}
	}
}

func TestTheApplicationsRoleMakesSegmentsAndNothingElse(t *testing.T) {
	owner, app := roles(t)
	o := postgres.Options{URL: app, Owner: owner, Schema: server.Schema(), RequireRoles: true, Segment: ledgertest.SegmentSize}
	s := mustOpen(t, o)
	defer s.Close()
	c, err := pgx.Connect(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	exec(t, c, "SET search_path = "+o.Schema)
	for _, sql := range []string{"DELETE FROM head", "ALTER TABLE events DISABLE TRIGGER ALL", "SET session_replication_role = replica", "DROP TABLE events",
		"ALTER TABLE events DETACH PARTITION events_1", "DROP TABLE events_1", "CREATE TABLE mine ()",
		"INSERT INTO archived VALUES (1, 500, gen_random_uuid(), '', 0, 0, '', '', '', 0, 0)",
		"SELECT extend_events(1)", "SELECT extend_events(NULL)"} {
		if _, err := c.Exec(t.Context(), sql); err == nil {
			t.Errorf("the application's role may %s", sql)
		}
	}
	var before, after int64
	ask := func(reach *int64) {
		if err := c.QueryRow(t.Context(), "SELECT extend_events(500)").Scan(reach); err != nil {
			t.Fatal(err)
		}
	}
	ask(&before)
	exec(t, c, "CREATE TEMP TABLE head AS SELECT 1000000::bigint AS position")
	exec(t, c, "CREATE TEMP TABLE segments AS SELECT 7::bigint AS last")
	if ask(&after); before != 1000 || after != before {
		t.Errorf("reach %d, then %d: a table of the caller's own counted", before, after)
	}
}

func TestOneRoleIsServedAndSaysSo(t *testing.T) {
	o := postgres.Options{URL: server.URL(t), Schema: server.Schema()}
	s := mustOpen(t, o)
	if r := s.Roles(); r.Separate || !strings.Contains(r.Detail, "triggers only") {
		t.Errorf("%+v", r)
	}
	s.Close()
	o.RequireRoles = true
	if _, err := postgres.Open(t.Context(), o); !errors.Is(err, postgres.ErrRoles) {
		t.Errorf("with require_roles: %v", err)
	}
}

func TestAReaderNeitherCreatesNorAppends(t *testing.T) {
	o := postgres.Options{URL: server.URL(t), Schema: server.Schema(), ReadOnly: true}
	if _, err := postgres.Open(t.Context(), o); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("where there is none: %v", err)
	}
	o.ReadOnly = false
	s := mustOpen(t, o)
	defer s.Close()
	o.ReadOnly = true
	r := mustOpen(t, o)
	defer r.Close()
	if _, err := r.Commit(t.Context(), ledgertest.NewMaker().Records(1)); err == nil {
		t.Error("a reader appended")
	}
	if _, err := postgres.Open(t.Context(), postgres.Options{URL: "postgres://u:secret@127.0.0.1:1/x"}); !errors.Is(err, ledger.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("no server: %v", err)
	}
}

// TestAnIdThatAnotherReplicaTookIsKnown: a replica that was alone for a while does
// not look its ids up, and notices that it no longer is.
func TestAnIdThatAnotherReplicaTookIsKnown(t *testing.T) {
	o := postgres.Options{Schema: server.Schema()}
	one, other := mustOpen(t, o), mustOpen(t, o)
	defer one.Close()
	defer other.Close()
	g := ledgertest.NewMaker()
	commit := func(s *postgres.Store, r ...events.Record) []ledger.Result {
		t.Helper()
		res, err := s.Commit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for round := range 3 {
		for range 20 {
			commit(one, g.Records(2)...)
		}
		taken := g.Records(3)
		want := commit(other, taken[1])[0].Position
		res := commit(one, taken...)
		if res[0].Known || !res[1].Known || res[1].Position != want || res[2].Known {
			t.Errorf("round %d: %+v", round, res)
		}
		changed := g.Records(1)[0]
		for range 20 {
			commit(one, g.Records(1)...)
		}
		late := changed // an id that is smaller than the greatest, and new
		if res := commit(one, late); res[0].Known || res[0].Err != nil {
			t.Errorf("round %d: %+v", round, res)
		}
		changed.Attempt = 9
		if res := commit(one, changed); !errors.Is(res[0].Err, ledger.ErrConflict) {
			t.Errorf("round %d: %+v", round, res)
		}
	}
	if v, err := ledger.Verify(t.Context(), one, ledger.VerifyOptions{}); err != nil || v.Fault != nil {
		t.Errorf("%v %v", v.Fault, err)
	}
}

func TestANotificationWakesAFollower(t *testing.T) {
	o := postgres.Options{Schema: server.Schema()}
	writer := ledger.Open(mustOpen(t, o))
	defer writer.Close()
	reader := ledger.OpenWith(mustOpen(t, o), ledger.Options{Poll: time.Hour}) // nothing but notifications
	defer reader.Close()
	g := ledgertest.NewMaker()
	got := make(chan error, 1)
	go func() {
		_, err := follow(t.Context(), reader, 50)
		got <- err
	}()
	for n := 0; ; n++ { // the listener may come late; what was sent before is lost
		if n < 50 || n%100 == 0 {
			if _, err := writer.Append(t.Context(), g.Drafts(1)...); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case err := <-got:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func TestAPollFindsWhatNoNotificationTold(t *testing.T) {
	o := postgres.Options{Schema: server.Schema(), Silent: true}
	writer := ledger.Open(mustOpen(t, o))
	defer writer.Close()
	reader := ledger.OpenWith(mustOpen(t, o), ledger.Options{Poll: 20 * time.Millisecond})
	defer reader.Close()
	got := make(chan error, 1)
	go func() {
		_, err := follow(t.Context(), reader, 3)
		got <- err
	}()
	for range 3 {
		if _, err := writer.Append(t.Context(), ledgertest.NewMaker().Drafts(1)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func TestALostConnectionIsACommitToRepeat(t *testing.T) {
	o := postgres.Options{Schema: server.Schema()}
	l := ledger.Open(mustOpen(t, o))
	defer l.Close()
	c := connect(t, o.Schema)
	g := ledgertest.NewMaker()
	const kills, between = 10, 20
	killed := int64(0)
	var tickets []*ledger.Ticket
	for range kills { // commits go on meanwhile
		for range between {
			tickets = append(tickets, l.Submit(ledger.Awaited, g.Drafts(1)...))
		}
		tag, err := c.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'waybill'")
		if err != nil {
			t.Fatal(err)
		}
		killed += tag.RowsAffected()
		if _, err := tickets[len(tickets)-1].Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, tk := range tickets {
		if evs, err := tk.Wait(t.Context()); err != nil || evs[0].Position != events.Position(i+1) {
			t.Fatalf("event %d: %v %v", i+1, evs, err)
		}
	}
	v, err := ledger.Verify(t.Context(), mustOpen(t, o), ledger.VerifyOptions{})
	if err != nil || v.Fault != nil || v.Positions != kills*between || killed < kills {
		t.Errorf("%d connections killed: %+v %v", killed, v, err)
	}
}
