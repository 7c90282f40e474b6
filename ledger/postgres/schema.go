package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/waybill/waybill/migrations"
)

// Roles says who enforces append-only.
type Roles struct {
	Separate bool   // the application's role could not change what is stored, triggers or not
	Detail   string // what it could do, for people; "" when Separate
}

// migrate brings the schema up to date, as its owner, and lets the
// application's role append to it. Replicas that start together take turns.
func migrate(ctx context.Context, o Options, app *pgx.ConnConfig) error {
	conf := app
	if o.Owner != "" {
		var err error
		if conf, err = config(o.Owner, o.Schema); err != nil {
			return err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return unavailable(err)
	}
	defer conn.Close(ctx)
	if err := createSchema(ctx, conn, o.Schema); err != nil {
		return err
	}
	conf = conf.Copy()
	conf.RuntimeParams["waybill.segment"] = strconv.FormatUint(uint64(o.Segment), 10) // of the first one
	if err := up(ctx, conf); err != nil {
		return fmt.Errorf("migrate: %w", unavailable(err))
	}
	if o.Owner == "" {
		return nil
	}
	return grant(ctx, conn, o.Schema, app.User)
}

func createSchema(ctx context.Context, conn *pgx.Conn, schema string) error {
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema).Scan(&there); err != nil || there {
		return unavailable(err)
	}
	_, err := conn.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize())
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P06" || pg.Code == "23505") { // another replica was faster
		return nil
	}
	return unavailable(err)
}

func up(ctx context.Context, conf *pgx.ConnConfig) error {
	sql, err := fs.Sub(migrations.Postgres, "postgres")
	if err != nil {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*conf)
	defer db.Close()
	p, err := goose.NewProvider(goose.DialectPostgres, db, sql, goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// grant gives the application's role what it needs, and nothing that could
// change the past.
func grant(ctx context.Context, conn *pgx.Conn, schema, role string) error {
	r, n := pgx.Identifier{role}.Sanitize(), pgx.Identifier{schema}.Sanitize()
	segments, err := conn.Query(ctx, "SELECT relid::regclass::text FROM pg_partition_tree('events')")
	if err != nil {
		return unavailable(err)
	}
	tables, err := pgx.CollectRows(segments, pgx.RowTo[string])
	if err != nil {
		return unavailable(err)
	}
	for _, sql := range []string{
		"GRANT USAGE ON SCHEMA " + n + " TO " + r,
		"GRANT SELECT, INSERT ON " + strings.Join(tables, ", ") + " TO " + r,
		"GRANT SELECT, UPDATE (position, recorded_at, hash) ON head TO " + r,
		"GRANT SELECT, INSERT, DELETE ON snapshots TO " + r,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON feeds, feeds_aside TO " + r,
		"GRANT SELECT ON ledger, segments, archived, account_events, goose_db_version TO " + r,
		"GRANT EXECUTE ON FUNCTION extend_events(bigint), index_accounts(bigint) TO " + r,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("grant to %s: %w", role, unavailable(err))
		}
	}
	return nil
}

// readRoles asks the database what the application's role could do.
func readRoles(ctx context.Context, pool *pgxpool.Pool) (Roles, error) {
	var name string
	var super, owner, update, remove, truncate, enter bool
	err := pool.QueryRow(ctx, `SELECT current_user::text, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
		pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = 'events'::regclass), 'MEMBER'),
		bool_or(has_table_privilege(t, 'UPDATE')), bool_or(has_table_privilege(t, 'DELETE')), bool_or(has_table_privilege(t, 'TRUNCATE')),
		coalesce(bool_or(t = to_regclass('account_events') AND has_table_privilege(t, 'INSERT')), false)
		FROM (SELECT relid FROM pg_partition_tree('events') UNION VALUES (to_regclass('archived')), (to_regclass('account_events')), (to_regclass('events'))) AS tables(t)
		WHERE t IS NOT NULL`).
		Scan(&name, &super, &owner, &update, &remove, &truncate, &enter)
	if err != nil {
		return Roles{}, fmt.Errorf("look at privileges: %w", err)
	}
	var may []string
	for what, yes := range map[string]bool{"is a superuser": super, "owns the schema": owner} {
		if yes {
			may = append(may, what)
		}
	}
	if len(may) == 0 && (update || remove || truncate) {
		may = append(may, "may UPDATE, DELETE or TRUNCATE")
	}
	if len(may) == 0 && enter {
		may = append(may, "may enter what it likes as accounts' events")
	}
	if len(may) == 0 {
		return Roles{Separate: true}, nil
	}
	return Roles{Detail: fmt.Sprintf("role %s %s: append-only is enforced by triggers only", name, strings.Join(may, " and "))}, nil
}
