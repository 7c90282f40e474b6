package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
)

func TestSnapshots(t *testing.T) {
	ledgertest.Snapshots(t, func(t *testing.T) ledger.Store { return mustOpen(t, filepath.Join(t.TempDir(), "waybill.db")) })
}

var saved = []ledger.Snapshot{{Name: "a", Version: 1, At: ledger.Head{Position: 5}, State: []byte("state")}}

func TestAReaderSeesSnapshotsAndWritesNone(t *testing.T) {
	path := filledBeside(t)
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, ok, err := r.Snapshots().Newest(t.Context(), "a", 1, 9); err != nil || !ok || string(got.State) != "state" {
		t.Fatalf("%q %v %v", got.State, ok, err)
	}
	if err := r.Snapshots().Save(t.Context(), saved); err == nil {
		t.Fatal("a reader saved a snapshot")
	}
	for _, left := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + ".snapshots" + left); err == nil {
			t.Errorf("reading left %s behind", left)
		}
	}
}

// filledBeside is a ledger that nobody has open, with a snapshot beside it.
func filledBeside(t *testing.T) string {
	t.Helper()
	path := filled(t, 10)
	s := mustOpen(t, path)
	if err := s.Snapshots().Save(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestADeletedFileOfSnapshotsIsNone(t *testing.T) {
	path := filledBeside(t)
	if err := os.Remove(path + ".snapshots"); err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, ok, err := r.Snapshots().Newest(t.Context(), "a", 1, 9); ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
}

func TestADamagedFileOfSnapshotsIsMadeAnew(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"no database": func([]byte) []byte {
			return []byte("this is no database, and it is longer than a header of one, so that it is looked at.....................")
		},
		"overwritten":  func(b []byte) []byte { clear(b[200:]); return b },
		"another's":    func(b []byte) []byte { copy(b[68:72], "XXXX"); return b },
		"empty at all": func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			path := filledBeside(t)
			file := path + ".snapshots"
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
			s := mustOpen(t, path)
			defer s.Close()
			if got, ok, err := s.Snapshots().Newest(t.Context(), "a", 1, 9); ok {
				t.Fatalf("a damaged file gave %q, %v", got.State, err)
			}
			err = s.Snapshots().Save(t.Context(), saved)
			if err != nil { // what was damaged is gone by now
				err = s.Snapshots().Save(t.Context(), saved)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, ok, err := s.Snapshots().Newest(t.Context(), "a", 1, 9); err != nil || !ok || string(got.State) != "state" {
				t.Fatalf("%q %v %v", got.State, ok, err)
			}
		})
	}
}
