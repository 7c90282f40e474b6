package postgres_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/postgres"
	server "github.com/waybill/waybill/test/postgres"
)

// leaseEnv makes this test binary hold a lease of the schema that it names.
const leaseEnv = "WAYBILL_TEST_LEASE"

// soon bounds what another process takes.
const soon = 20 * time.Second

// hold takes a lease in the background and tells when it is held and lost.
func hold(ctx context.Context, s ledger.Leases, name string) (held, lost <-chan struct{}) {
	h, l := make(chan struct{}, 16), make(chan struct{}, 16)
	go s.Lease(ctx, name, func(ctx context.Context) {
		h <- struct{}{}
		<-ctx.Done()
		l <- struct{}{}
	})
	return h, l
}

func within(t *testing.T, what string, ch <-chan struct{}) time.Duration {
	t.Helper()
	begun := time.Now()
	select {
	case <-ch:
	case <-time.After(soon):
		t.Fatalf("%s: not within %s", what, soon)
	}
	return time.Since(begun)
}

func TestALeaseHasOneHolderAndMovesWhenItIsGivenUpOrItsConnectionDies(t *testing.T) {
	o := postgres.Options{Schema: server.Schema()}
	one, two := mustOpen(t, o), mustOpen(t, o)
	defer one.Close()
	defer two.Close()
	ctx, cancel := context.WithCancel(t.Context())
	held, lost := hold(ctx, one, "a")
	within(t, "the first holds it", held)
	second, secondLost := hold(t.Context(), two, "a")
	other, _ := hold(t.Context(), two, "b")
	within(t, "another name is free", other) // by then the server has also refused "a"
	select {
	case <-second:
		t.Fatal("two hold it")
	default:
	}
	cancel()
	within(t, "it is given up", lost)
	within(t, "the second has it", second)

	again, _ := hold(t.Context(), one, "a")
	exec(t, connect(t, o.Schema), "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE locktype = 'advisory' AND datname = current_database()")
	within(t, "the second notices", secondLost)
	select { // whoever was faster
	case <-again:
	case <-second:
	case <-time.After(soon):
		t.Fatal("nobody holds it")
	}
}

// TestCallersOfOneProcessTakeTurns also counts: a lock that is locked twice in
// one session would have to be unlocked twice.
func TestCallersOfOneProcessTakeTurns(t *testing.T) {
	o := postgres.Options{Schema: server.Schema()}
	one, two := mustOpen(t, o), mustOpen(t, o)
	defer one.Close()
	defer two.Close()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, s := range []*postgres.Store{one, one, one, two, two} {
		wg.Go(func() {
			s.Lease(t.Context(), "turns", func(context.Context) {
				if !mu.TryLock() {
					t.Error("two at a time")
					return
				}
				defer mu.Unlock()
				time.Sleep(time.Millisecond) // so that others could come in
			})
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	within(t, "all had their turn", done)
}

// TestAFrozenProcessLosesItsLease stops a holder with SIGSTOP: its connection
// lives on, and the server ends it.
func TestAFrozenProcessLosesItsLease(t *testing.T) {
	o := postgres.Options{URL: server.URL(t), Schema: server.Schema()}
	s := mustOpen(t, o)
	defer s.Close()
	cmd := child(t, o)
	lines := make(chan string, 16)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	go func() {
		defer close(lines)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			lines <- sc.Text()
		}
	}()
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-lines:
			if got != want {
				t.Fatalf("the child says %q, not %q", got, want)
			}
		case <-time.After(soon):
			t.Fatalf("the child does not say %q", want)
		}
	}
	expect("held")
	held, _ := hold(t.Context(), s, "frozen")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	took := within(t, "the lease moves", held)
	t.Logf("moved after %s", took.Round(time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	expect("lost")
}

func child(t *testing.T, o postgres.Options) *osexec.Cmd {
	cmd := osexec.CommandContext(t.Context(), os.Args[0], "-test.run", "^$")
	cmd.Env = append(os.Environ(), leaseEnv+"="+o.Schema, "WAYBILL_TEST_POSTGRES="+o.URL)
	cmd.Stderr = os.Stderr
	return cmd
}

// holdLease is the child's part.
func holdLease(schema string) int {
	s, err := postgres.Open(context.Background(), postgres.Options{URL: os.Getenv("WAYBILL_TEST_POSTGRES"), Schema: schema})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s.Lease(context.Background(), "frozen", func(ctx context.Context) {
		fmt.Println("held")
		<-ctx.Done()
		fmt.Println("lost")
	})
	return 0
}
