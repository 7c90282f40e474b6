package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/spool"
	"github.com/waybill/waybill/ledger/sqlite"
)

var _ spool.Store = (*sqlite.Spool)(nil)

func openSpool(t *testing.T, path string) *sqlite.Spool {
	t.Helper()
	s, err := sqlite.OpenSpool(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestASpoolHasAFileOnlyWhileItHoldsSomething(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool.db")
	s, g := openSpool(t, path), ledgertest.NewMaker()
	for range 3 {
		if there(path) || s.Size() != 0 {
			t.Fatal("it has a file and holds nothing")
		}
		if _, err := s.Commit(t.Context(), g.Records(10)); err != nil {
			t.Fatal(err)
		}
		if h, err := s.Head(t.Context()); err != nil || h.Position != 10 || s.Size() < 10*100 {
			t.Errorf("head %v, %d bytes, %v", h, s.Size(), err)
		}
		if emptied, err := s.Empty(9); emptied || err != nil || !there(path) {
			t.Errorf("emptied though it had grown: %v %v", emptied, err)
		}
		if emptied, err := s.Empty(10); !emptied || err != nil {
			t.Errorf("not emptied: %v %v", emptied, err)
		}
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if there(name) {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestASpoolIsFoundAgainAndIsOneProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool.db")
	s := openSpool(t, path)
	if _, err := s.Commit(t.Context(), ledgertest.NewMaker().Records(5)); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.OpenSpool(path); !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("a second process: %v", err)
	}
	if emptied, err := s.Empty(4); emptied || err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openSpool(t, path)
	n := 0
	err := again.Scan(t.Context(), 0, ledger.Filter{}, 0, func(*ledger.Row) error { n++; return nil })
	if err != nil || n != 5 {
		t.Errorf("%d rows, %v", n, err)
	}
	if emptied, err := again.Empty(5); !emptied || err != nil {
		t.Errorf("%v %v", emptied, err)
	}
	if _, err := sqlite.OpenSpool(path); !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("emptying let the lock go: %v", err)
	}
}

func TestALedgerIsNoSpool(t *testing.T) {
	path := filled(t, 3)
	s := openSpool(t, path)
	if _, err := spool.Open(t.Context(), s, 1<<20); !errors.Is(err, spool.ErrNoSpool) {
		t.Errorf("%v", err)
	}
}

func TestAForeignFileIsNoSpool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("this is no database, and a good deal longer than a header"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.OpenSpool(path); !errors.Is(err, sqlite.ErrForeign) {
		t.Errorf("%v", err)
	}
	if !there(path) {
		t.Error("it was removed")
	}
}

func TestWhatASpoolHoldsReachesItsLedgerOnce(t *testing.T) {
	dir, g := t.TempDir(), ledgertest.NewMaker()
	log := ledger.Open(mustOpen(t, filepath.Join(dir, "waybill.db")))
	defer log.Close()
	if _, err := log.Append(t.Context(), g.Drafts(1)...); err != nil {
		t.Fatal(err)
	}
	id, err := ledger.Identity(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	sp, err := spool.Open(t.Context(), openSpool(t, filepath.Join(dir, "spool.db")), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer sp.Close()
	sp.Bind(id)
	drafts := g.Drafts(2500)
	if _, err := sp.Submit(ledger.Awaited, drafts...).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), drafts[:700]...); err != nil { // a commit whose outcome nobody heard of
		t.Fatal(err)
	}
	if n, err := sp.Replay(t.Context(), log); err != nil || n.Events != 2500 {
		t.Fatalf("%+v %v", n, err)
	}
	if n, err := sp.Waiting(t.Context()); n != 0 || err != nil {
		t.Errorf("%d wait still, %v", n, err)
	}
	var got []uuid.UUID
	err = log.Each(t.Context(), 1, ledger.Filter{}, func(e *events.Event) error { got = append(got, e.ID); return nil })
	if err != nil || len(got) != 2500 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	for i := range drafts {
		if got[i] != drafts[i].ID {
			t.Fatalf("event %d stands elsewhere", i)
		}
	}
}

func TestASpoolThatIsSetAsideIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool.db")
	s, g := openSpool(t, path), ledgertest.NewMaker()
	for n := 1; n <= 2; n++ {
		if _, err := s.Commit(t.Context(), g.Records(10*n)); err != nil {
			t.Fatal(err)
		}
		where, err := s.SetAside()
		if err != nil || there(path) || len(sqlite.Broken(path)) != n || sqlite.Broken(path)[n-1] != where {
			t.Fatalf("%s of %v: %v", where, sqlite.Broken(path), err)
		}
		if v := verify(t, where, ledger.VerifyOptions{}); v.Fault != nil || v.Positions != uint64(10*n) {
			t.Errorf("%+v", v)
		}
	}
}
