package snapshot_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/snapshot"
	"github.com/waybill/waybill/ledger/sqlite"
)

// open is a ledger of n events.
func open(t *testing.T, n int) (*ledger.Log, *sqlite.Store) {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "waybill.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), ledgertest.NewMaker().Records(n)); err != nil {
		t.Fatal(err)
	}
	log := ledger.Open(s)
	t.Cleanup(func() { log.Close() })
	return log, s
}

// headAt is where the ledger stood.
func headAt(t *testing.T, log *ledger.Log, at events.Position) (h ledger.Head) {
	t.Helper()
	err := log.Scan(t.Context(), at-1, ledger.Filter{UpTo: at}, 1, func(r *ledger.Row) error {
		h = ledger.Head{Position: r.Position, Hash: r.Hash}
		return nil
	})
	if err != nil || h.Position != at {
		t.Fatalf("%+v, %v", h, err)
	}
	return h
}

func TestASnapshotThatCannotBeBelievedIsAsIfItWereNotThere(t *testing.T) {
	rows := map[string]func(s *ledger.Snapshot){
		"another byte of its state":      func(s *ledger.Snapshot) { s.State[len(s.State)/2] ^= 1 },
		"cut off":                        func(s *ledger.Snapshot) { s.State = s.State[:len(s.State)-3] },
		"empty":                          func(s *ledger.Snapshot) { s.State = nil },
		"of another form":                func(s *ledger.Snapshot) { s.State[0]++ },
		"of another ledger":              func(s *ledger.Snapshot) { s.At.Hash[3] ^= 1 },
		"of a ledger that went further":  func(s *ledger.Snapshot) { s.At.Position = 40 },
		"of another version":             func(s *ledger.Snapshot) { s.Version++ },
		"of another place with its hash": func(s *ledger.Snapshot) { s.At.Position = 15 },
	}
	for name, damage := range rows {
		t.Run(name, func(t *testing.T) {
			log, store := open(t, 30)
			var lines bytes.Buffer
			s := snapshot.Of(log, slog.New(slog.NewTextHandler(&lines, nil)))
			older := ledger.Snapshot{Name: "a", Version: 1, At: headAt(t, log, 10), State: []byte("older")}
			if err := s.Save(t.Context(), older, ledger.Snapshot{Name: "a", Version: 1, At: headAt(t, log, 20), State: bytes.Repeat([]byte("newer"), 100)}); err != nil {
				t.Fatal(err)
			}
			table := store.Snapshots()
			bad, ok, err := table.Newest(t.Context(), "a", 1, 20)
			if !ok || err != nil {
				t.Fatal(err)
			}
			if err := table.Drop(t.Context(), []ledger.SnapshotPlace{{Name: "a", Version: 1, Position: 20}}); err != nil {
				t.Fatal(err)
			}
			damage(&bad)
			if err := table.Save(t.Context(), []ledger.Snapshot{bad}); err != nil {
				t.Fatal(err)
			}
			got, ok := s.Newest(t.Context(), "a", 1, 100)
			if !ok || string(got.State) != "older" {
				t.Fatalf("it gave %q", got.State)
			}
			if bad.Version == 1 && !strings.Contains(lines.String(), "snapshot ignored") {
				t.Errorf("the log says %q", lines.String())
			}
		})
	}
}

// The states are genuine, and stand under a place and hash that are right: only
// what is packed with them tells.
func TestAGenuineStateUnderAnotherPlaceIsNotBelieved(t *testing.T) {
	log, store := open(t, 30)
	s, table := snapshot.Of(log, nil), store.Snapshots()
	if err := s.Save(t.Context(), ledger.Snapshot{Name: "a", Version: 1, At: headAt(t, log, 10), State: []byte("older")}); err != nil {
		t.Fatal(err)
	}
	genuine, ok, err := table.Newest(t.Context(), "a", 1, 10)
	if !ok || err != nil {
		t.Fatal(err)
	}
	rows := map[string]ledger.Snapshot{
		"a newer position": {Name: "a", Version: 1, At: headAt(t, log, 20), State: genuine.State},
		"another name":     {Name: "b", Version: 1, At: genuine.At, State: genuine.State},
		"another version":  {Name: "a", Version: 2, At: genuine.At, State: genuine.State},
	}
	for name, forged := range rows {
		if err := table.Save(t.Context(), []ledger.Snapshot{forged}); err != nil {
			t.Fatal(err)
		}
		if got, ok := s.At(t.Context(), forged.Name, forged.Version, forged.At.Position); ok {
			t.Errorf("%s: it gave %q", name, got.State)
		}
	}
	if got, ok := s.Newest(t.Context(), "a", 1, 30); !ok || got.At.Position != 10 || string(got.State) != "older" {
		t.Errorf("the genuine one gave way to %+v", got)
	}
}

func TestAGoodSnapshotIsGivenUpToItsPosition(t *testing.T) {
	log, _ := open(t, 30)
	s := snapshot.Of(log, nil)
	if err := s.Save(t.Context(), ledger.Snapshot{Name: "a", Version: 1, At: headAt(t, log, 20), State: []byte("state")}); err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Newest(t.Context(), "a", 1, 20); !ok || string(got.State) != "state" || got.At != headAt(t, log, 20) {
		t.Fatalf("%+v %v", got, ok)
	}
	if _, ok := s.Newest(t.Context(), "a", 1, 19); ok {
		t.Fatal("it was given for a position before it")
	}
}

func TestAStoreWithoutSnapshotsHasNone(t *testing.T) {
	log := ledger.Open(ledgertest.NewMemory())
	defer log.Close()
	s := snapshot.Of(log, nil)
	if _, ok := s.Newest(t.Context(), "a", 1, 10); ok {
		t.Fatal("a snapshot out of nothing")
	}
	if err := s.Save(t.Context(), ledger.Snapshot{Name: "a"}); err != nil {
		t.Fatal(err)
	}
}
