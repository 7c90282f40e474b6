package sqlite

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waybill/waybill/migrations"
)

// applicationID marks the file: "WAYB".
const applicationID = 0x57415942

// migration is one numbered file.
type migration struct {
	version int64
	sql     string
}

func schema() ([]migration, error) {
	names, err := fs.Glob(migrations.SQLite, "sqlite/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []migration
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "sqlite/"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		sql, err := fs.ReadFile(migrations.SQLite, name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version, string(sql)})
	}
	return all, nil
}

// recognise says which schema version a database has; 0 for an empty one. What
// this binary cannot use is ErrForeign.
func recognise(c *zs.Conn) (int64, error) {
	app, err := one(c, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	if app == applicationID {
		return known(c)
	}
	tables, err := one(c, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	if app != 0 || tables != 0 {
		return 0, fmt.Errorf("%w: it holds something else", ErrForeign)
	}
	return 0, nil
}

// known is the version of one of our databases, which may be newer than we are.
func known(c *zs.Conn) (int64, error) {
	at, err := one(c, "PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	all, err := schema()
	if err != nil {
		return 0, err
	}
	if newest := all[len(all)-1].version; at > newest {
		return 0, fmt.Errorf("%w: schema %d is newer than this binary's %d", ErrForeign, at, newest)
	}
	return at, nil
}

// migrate brings a database to the newest schema, each step in one transaction.
func migrate(c *zs.Conn) error {
	at, err := recognise(c)
	if err != nil {
		return err
	}
	all, err := schema()
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.version <= at {
			continue
		}
		script := fmt.Sprintf("%s\nPRAGMA application_id=%d;\nPRAGMA user_version=%d;", m.sql, applicationID, m.version)
		if err := sqlitex.ExecuteScript(c, script, nil); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", m.version, err)
		}
	}
	return nil
}

// one is a query's single integer.
func one(c *zs.Conn, query string) (n int64, err error) {
	err = sqlitex.ExecuteTransient(c, query, &sqlitex.ExecOptions{ResultFunc: func(s *zs.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}})
	return n, err
}
