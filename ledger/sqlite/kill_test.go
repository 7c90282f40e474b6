package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
)

// childVar makes the test binary the process that is killed.
const childVar = "WAYBILL_KILL_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVar); path != "" {
		appendUntilKilled(path)
		return
	}
	os.Exit(m.Run())
}

// appendUntilKilled prints "position id" of every event that was acknowledged.
func appendUntilKilled(path string) {
	s, err := sqlite.Open(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	l := ledger.Open(s)
	var out sync.Mutex
	var wg sync.WaitGroup
	for i := range 4 {
		g := ledgertest.NewMaker()
		wg.Go(func() {
			for n := 1; ; n = n%(3*i+2) + 1 {
				evs, err := l.Submit(ledger.Awaited, g.Drafts(n)...).Wait(context.Background())
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				out.Lock()
				for i := range evs {
					fmt.Println(uint64(evs[i].Position), evs[i].ID)
				}
				out.Unlock()
			}
		})
	}
	wg.Wait()
}

// acknowledged is what the killed process had said.
type acknowledged map[events.Position]uuid.UUID

// TestNothingAcknowledgedIsLostByAKill kills the writing process while it
// commits, again and again. WAYBILL_KILL_CYCLES says how often [20].
func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	cycles := 20
	if testing.Short() {
		cycles = 3
	}
	if v := os.Getenv("WAYBILL_KILL_CYCLES"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		cycles = n
	}
	path := filepath.Join(t.TempDir(), "waybill.db")
	said := acknowledged{}
	head := ledger.Head{}
	for cycle := range cycles {
		said.killAfter(t, path, 1+cycle*37%400)
		s := mustOpen(t, path)
		v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{Expect: head})
		if err != nil || v.Fault != nil {
			t.Fatalf("cycle %d: %v %v", cycle, v.Fault, err)
		}
		said.check(t, s, head.Position)
		head = v.Head
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d events acknowledged, %d stored", cycles, len(said), head.Position)
}

// killAfter starts the process, kills it once it has acknowledged n events,
// and takes down all that it said.
func (a acknowledged) killAfter(t *testing.T, path string, n int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for seen := 0; lines.Scan(); seen++ {
		var p events.Position
		var id string
		if _, err := fmt.Sscan(lines.Text(), &p, &id); err != nil || len(id) != 36 {
			continue // the kill cut the line
		}
		a[p] = uuid.MustParse(id)
		if seen == n {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("the child ended by itself: %v", err)
	}
}

// check looks for everything acknowledged after a position.
func (a acknowledged) check(t *testing.T, s ledger.Store, after events.Position) {
	t.Helper()
	found := 0
	err := s.Scan(t.Context(), after, ledger.Filter{}, 0, func(r *ledger.Row) error {
		if id, ok := a[r.Position]; ok {
			if id != r.ID {
				t.Errorf("position %d was acknowledged as %s and holds %s", r.Position, id, r.ID)
			}
			found++
		}
		return nil
	})
	want := 0
	for p := range a {
		if p > after {
			want++
		}
	}
	if err != nil || found != want {
		t.Fatalf("%d of %d acknowledged events are there, %v", found, want, err)
	}
}
