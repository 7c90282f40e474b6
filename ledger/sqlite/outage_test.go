package sqlite_test

import (
	"encoding/binary"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// fullAt makes every write of this process fail beyond an offset, as on a full
// disk: what comes before it is written, the rest is not.
func fullAt(t *testing.T, offset uint64) (heal func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: offset, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
	}
}

// walEnd is the offset at which SQLite writes next.
func walEnd(t *testing.T, path string) uint64 {
	t.Helper()
	b, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	const header, frame = 32, 24 + 4096
	at := uint64(header)
	for at+frame <= uint64(len(b)) && binary.BigEndian.Uint64(b[at+8:]) == binary.BigEndian.Uint64(b[16:]) {
		at += frame
	}
	return at
}

func Test_B122_a_write_that_fails_half_way_loses_nothing_acknowledged(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	path := filepath.Join(t.TempDir(), "waybill.db")
	l := ledger.OpenWith(mustOpen(t, path), ledger.Options{Retries: 1, Backoff: time.Millisecond})
	g := ledgertest.NewMaker()
	acked := map[uuid.UUID]events.Position{}
	ack := func(evs []events.Event) {
		for i := range evs {
			acked[evs[i].ID] = evs[i].Position
		}
	}
	failed := 0
	for _, written := range []uint64{0, 1, 23, 24, 25, 4000, 4119, 4120, 4121, 8000, 8240, 12359, 12361, 20000} {
		evs, err := l.Append(t.Context(), g.Drafts(3)...)
		if err != nil {
			t.Fatal(err)
		}
		ack(evs)
		heal := fullAt(t, walEnd(t, path)+written)
		drafts := g.Drafts(40)
		evs, err = l.Append(t.Context(), drafts...)
		heal()
		if errors.Is(err, ledger.ErrUnavailable) {
			failed++
			if evs, err = l.Append(t.Context(), drafts...); err != nil {
				t.Fatalf("after %d bytes: the same events again: %v", written, err)
			}
		} else if err != nil {
			t.Fatalf("after %d bytes: %v", written, err)
		}
		ack(evs)
	}
	if failed < 5 {
		t.Fatalf("only %d writes failed: the test proves nothing", failed)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	v := verify(t, path, ledger.VerifyOptions{})
	if v.Fault != nil || int(v.Positions) != len(acked) {
		t.Fatalf("%d positions for %d events: %v", v.Positions, len(acked), v.Fault)
	}
	s := mustOpen(t, path)
	defer s.Close()
	err := s.Scan(t.Context(), 0, ledger.Filter{}, 0, func(r *ledger.Row) error {
		if acked[r.ID] != r.Position {
			t.Errorf("position %d holds %s, acknowledged at %d", r.Position, r.ID, acked[r.ID])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func Test_B122_a_disk_that_is_full_at_the_start_is_reported(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	path := filled(t, 50)
	heal := fullAt(t, 16<<10)
	s, err := openStore(path)
	if err == nil {
		_, err = s.Commit(t.Context(), ledgertest.NewMaker().Records(100))
		s.Close()
	}
	heal()
	if err == nil {
		t.Fatal("it was written to a full disk")
	}
	s = mustOpen(t, path)
	defer s.Close()
	if v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{}); err != nil || v.Fault != nil || v.Positions != 50 {
		t.Errorf("%+v %v", v, err)
	}
}

func Test_B134_a_lock_held_by_another_delays_commits_and_loses_nothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waybill.db")
	l := ledger.Open(mustOpen(t, path))
	defer l.Close()
	g := ledgertest.NewMaker()
	if _, err := l.Append(t.Context(), g.Drafts(1)...); err != nil {
		t.Fatal(err)
	}
	other, err := zs.OpenConn(path, zs.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := sqlitex.ExecuteTransient(other, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	var tickets []*ledger.Ticket
	for range 100 {
		tickets = append(tickets, l.Submit(ledger.Awaited, g.Drafts(1)...)) // returns at once
	}
	select {
	case <-tickets[0].Done():
		t.Error("it was committed beside somebody else's transaction")
	default:
	}
	if err := sqlitex.ExecuteTransient(other, "ROLLBACK", nil); err != nil {
		t.Fatal(err)
	}
	for i, tk := range tickets {
		evs, err := tk.Wait(t.Context())
		if err != nil || evs[0].Position != events.Position(i+2) {
			t.Fatalf("event %d: %v %v", i, evs, err)
		}
	}
}
