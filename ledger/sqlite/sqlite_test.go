package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
)

func fresh(t *testing.T) ledgertest.Opener {
	path := filepath.Join(t.TempDir(), "waybill.db")
	return func(t *testing.T) ledger.Store { return mustOpen(t, path) }
}

func mustOpen(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// filled is a ledger of n events that nobody has open.
func filled(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "waybill.db")
	s := mustOpen(t, path)
	if _, err := s.Commit(t.Context(), ledgertest.NewMaker().Records(n)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConformance(t *testing.T) { ledgertest.Run(t, fresh) }

func TestSegments(t *testing.T) { ledgertest.RunSegments(t, fresh) }

func TestOneWriterOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waybill.db")
	s := mustOpen(t, path)
	_, err := sqlite.Open(path)
	if !errors.Is(err, ledger.ErrLocked) || !strings.Contains(err.Error(), itoa(os.Getpid())) {
		t.Errorf("a second writer got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path).Close()
}

func itoa(n int) string { return "process " + strconv.Itoa(n) }

func TestTheDatabaseRefusesToForget(t *testing.T) {
	path := filled(t, 10)
	c, err := zs.OpenConn(path, zs.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, sql := range []string{
		"DELETE FROM events", "DELETE FROM events WHERE position = 10", "UPDATE events SET account = 1",
		"UPDATE events SET position = 11 WHERE position = 10",
		"INSERT OR REPLACE INTO accounts VALUES (1, 'another')",
		"DELETE FROM accounts", "UPDATE accounts SET name = 'x'", "DELETE FROM models", "UPDATE models SET name = 'x'",
		"DELETE FROM writers", "UPDATE writers SET name = x'00'",
	} {
		err := sqlitex.ExecuteTransient(c, sql, nil)
		if err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestADatabaseOfSomethingElseIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	c, err := zs.OpenConn(path, zs.OpenReadWrite|zs.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(c, "CREATE TABLE contacts (name TEXT)", nil); err != nil {
		t.Fatal(err)
	}
	c.Close()
	before, _ := os.ReadFile(path)
	if _, err := sqlite.Open(path); !errors.Is(err, sqlite.ErrForeign) {
		t.Errorf("open: %v", err)
	}
	if _, err := sqlite.OpenReader(path); !errors.Is(err, sqlite.ErrForeign) {
		t.Errorf("open for reading: %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the file was changed")
	}
	text := filepath.Join(t.TempDir(), "text.db")
	os.WriteFile(text, []byte(strings.Repeat("not a database at all ", 100)), 0o644)
	if _, err := sqlite.Open(text); !errors.Is(err, sqlite.ErrForeign) {
		t.Errorf("a text file as a ledger: %v", err)
	}
	if _, err := sqlite.OpenReader(text); !errors.Is(err, sqlite.ErrForeign) || strings.Contains(err.Error(), "PRAGMA") {
		t.Errorf("a text file as a ledger to read: %v", err)
	}
}

func TestAReaderCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "waybill.db")
	_, err := sqlite.OpenReader(path)
	if !errors.Is(err, ledger.ErrNotFound) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

func TestAReaderLeavesNothingBesideACopy(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(filled(t, 100))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "copy of ledger?.db")
	if err := os.WriteFile(path, data, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if h, err := r.Head(t.Context()); err != nil || h.Position != 100 {
		t.Errorf("%+v %v", h, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}

func TestACopyWithoutItsLogSaysWhatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waybill.db")
	s := mustOpen(t, path)
	defer s.Close()
	if _, err := s.Commit(t.Context(), ledgertest.NewMaker().Records(3)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.OpenReader(copied); !errors.Is(err, ledger.ErrNotFound) || !strings.Contains(err.Error(), "copy.db-wal") || !strings.Contains(err.Error(), "waybill export") {
		t.Errorf("got %v", err)
	}
}

func TestAReaderSeesAWriterAtWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waybill.db")
	s := mustOpen(t, path)
	defer s.Close()
	g := ledgertest.NewMaker()
	w := ledger.Open(s)
	if _, err := w.Append(t.Context(), g.Drafts(3)...); err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.Open(r)
	defer l.Close()
	go w.Append(t.Context(), g.Drafts(2)...)
	enough := errors.New("enough")
	n := events.Position(0)
	err = l.Follow(t.Context(), 0, func(run []events.Event) error {
		if n = run[len(run)-1].Position; n == 5 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
	if _, err := l.Append(t.Context(), g.Drafts(1)...); err == nil {
		t.Error("a reader appended")
	}
}

func openStore(path string) (*sqlite.Store, error) { return sqlite.Open(path) }
