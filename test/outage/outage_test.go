// Package outage holds the test that takes PostgreSQL away from the built
// gateway under load, again and again, kills the gateway meanwhile, and asks
// afterwards whether every answered request's decision is in the ledger once.
package outage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/load"
	"github.com/waybill/waybill/test/postgres"
	"github.com/waybill/waybill/test/upstream"
)

// world is a gateway on a PostgreSQL of its own, under load.
type world struct {
	t      *testing.T
	server *postgres.Server
	gw     *binary.Gateway
	load   *load.Traffic
}

func start(t *testing.T, config string, seed uint64) *world {
	t.Helper()
	server, err := postgres.Start("fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	up := upstream.New(t)
	up.Script("*", upstream.Good)
	w := &world{t: t, server: server, gw: binary.New(t, config+load.Pool(up.URL(), 4), "WAYBILL_LEDGER="+server.URL, "WAYBILL_BUS=postgres")}
	w.gw.Up()
	w.run(seed)
	t.Cleanup(w.rest)
	return w
}

// run begins the load of clients that keep their own log.
func (w *world) run(seed uint64) {
	before := w.load
	w.load = load.Drive(w.gw.URL, 8, seed)
	if before != nil {
		w.load.Take(before.Client)
	}
}

func (w *world) rest() { w.load.Rest() }

// served waits until so many more requests have been answered.
func (w *world) served(n int64) {
	w.t.Helper()
	until := w.load.Answered() + n
	binary.Until(w.t, "answers under load", func() bool { return w.load.Answered() >= until })
}

// until waits until readiness is what is wanted.
func (w *world) until(what string, fn func(status int, ledger string) bool) {
	w.t.Helper()
	var status int
	var notes map[string]string
	if !binary.Within(binary.Patience, func() bool {
		status, notes = w.gw.Ready()
		return fn(status, notes["ledger"])
	}) {
		w.t.Fatalf("%s: not within %s; it is %d %q", what, binary.Patience, status, notes["ledger"])
	}
}

func spooling(status int, ledger string) bool {
	return status == 200 && strings.Contains(ledger, "spooling")
}
func normal(status int, ledger string) bool {
	return status == 200 && !strings.Contains(ledger, "spooling")
}
func waiting(status int, ledger string) bool {
	return status == 503 && strings.Contains(ledger, "wait in the spool")
}

// stop takes the database away, each time in another way.
func (w *world) stop(how int) {
	w.t.Helper()
	var err error
	switch how % 3 {
	case 0:
		err = w.server.Crash() // pg_ctl stop -m immediate
	case 1:
		err = w.server.Halt() // pg_ctl stop -m fast
	case 2:
		err = w.server.Freeze()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) restart(how int) {
	w.t.Helper()
	var err error
	if how%3 == 2 {
		err = w.server.Thaw()
	} else {
		err = w.server.Restart()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// check compares the clients' own log with the ledger.
func (w *world) check() (decisions int, v binary.Verified) {
	w.t.Helper()
	type event struct {
		Request string `json:"request"`
		Attempt uint32 `json:"attempt"`
	}
	binary.Until(w.t, "nothing is open", func() bool {
		return len(binary.List[struct{}](w.gw, "/requests", "outcome=open")) == 0
	})
	binary.Until(w.t, "the spool is removed", func() bool {
		_, err := os.Stat(filepath.Join(w.gw.Dir, "spool.db"))
		return errors.Is(err, fs.ErrNotExist)
	})
	v = w.gw.Verify()
	have := map[string]bool{}
	twice := map[event]int{}
	for _, kind := range []string{"attempt.routed", "request.refused"} {
		for _, e := range binary.List[event](w.gw, "/events", "type="+kind) {
			have[e.Request] = true
			if twice[e]++; twice[e] > 1 {
				w.t.Errorf("request %s has attempt %d twice", e.Request, e.Attempt)
			}
		}
	}
	for _, a := range w.load.Seen() {
		if !have[a.Request] {
			w.t.Errorf("an answered request has no decision in the ledger: %+v", a)
		}
	}
	if len(twice) < int(v.Rederived) {
		w.t.Errorf("%d decisions are listed, %d were derived again", len(twice), v.Rederived)
	}
	return len(twice), v
}

// clean says that no client saw anything but answers.
func (w *world) clean() {
	w.t.Helper()
	for status, n := range w.load.Statuses() {
		if status != 200 {
			w.t.Errorf("%d clients got %d", n, status)
		}
	}
	if n := w.load.Broken(); n > 0 {
		w.t.Errorf("%d clients got no answer", n)
	}
}

func number(name string, short uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return short
}

// TestPostgreSQLGoesAwayUnderLoad: clients notice nothing, and every decision
// reaches the ledger once. WAYBILL_OUTAGES sets how often it goes.
func TestPostgreSQLGoesAwayUnderLoad(t *testing.T) {
	t.Parallel()
	n, seed := number("WAYBILL_OUTAGES", 3), number("SEED", 1)
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := start(t, "", seed)
	for i := range int(n) {
		w.served(20 + int64(rnd.IntN(60)))
		w.stop(i)
		w.until("spooling", spooling)
		w.served(50 + int64(rnd.IntN(200)))
		w.restart(i)
		w.until("back", normal)
	}
	w.served(20)
	w.rest()
	w.clean()
	decisions, v := w.check()
	prove(t, map[string]any{"prove": "outage", "outages": n, "seed": seed, "answered": w.load.Answered(), "client_errors": 0,
		"decisions": decisions, "lost": 0, "twice": 0, "positions": v.Positions, "rederived": v.Rederived})
}

// TestTheGatewayIsKilledWhileTheLedgerIsAway: the next start waits for the
// ledger and appends what the killed one left, before anything else.
func TestTheGatewayIsKilledWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	n, seed := number("WAYBILL_OUTAGES", 2), number("SEED", 1)
	rnd := rand.New(rand.NewPCG(seed, 1))
	w := start(t, "", seed)
	for i := range int(n) {
		w.served(20)
		w.stop(i % 2)
		w.until("spooling", spooling)
		w.served(50 + int64(rnd.IntN(100)))
		w.gw.Kill()
		w.rest()
		if i%2 == 0 { // the ledger is still away
			w.gw.Launch()
			w.until("waiting", waiting)
			out, _, _ := w.gw.Run("doctor")
			if !strings.Contains(out, "events of ledger") {
				t.Errorf("doctor does not name the spool:\n%s", out)
			}
			w.restart(i % 2)
		} else {
			w.restart(i % 2)
			w.gw.Launch()
		}
		w.until("back", normal)
		w.run(seed + uint64(i) + 1)
	}
	w.served(20)
	w.rest()
	decisions, v := w.check()
	prove(t, map[string]any{"prove": "outage-kill", "kills": n, "seed": seed, "first_bytes": len(w.load.Seen()),
		"decisions": decisions, "lost": 0, "twice": 0, "positions": v.Positions, "rederived": v.Rederived})
}

// A database that hangs holds up neither who asks whether the gateway is ready
// nor who tells it to stop.
func TestTheGatewayStopsInOrderWhileTheLedgerHangs(t *testing.T) {
	t.Parallel()
	w := start(t, "", 5)
	w.served(20)
	w.stop(2)
	w.until("spooling", spooling)
	w.served(20)
	w.rest()
	begun := time.Now()
	if code := w.gw.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(begun); took > 30*time.Second { // a drain is 10 s, and this machine may be slow
		t.Errorf("SIGTERM took %s", took)
	}
	w.restart(2)
	w.gw.Up()
	w.check()
}

func TestAFullSpoolRefusesUntilTheLedgerIsBack(t *testing.T) {
	t.Parallel()
	w := start(t, "spool_max: 1MiB\n", 3)
	w.stop(0)
	w.until("full", func(status int, ledger string) bool {
		return status == 503 && strings.Contains(ledger, "spool is full")
	})
	w.served(20)
	refused := false
	for _, a := range w.load.Seen() {
		refused = refused || a.Status == 503 && a.Refusal == "ledger_unavailable"
	}
	if !refused {
		t.Error("nobody was refused")
	}
	w.restart(0)
	w.until("back", normal)
	w.served(20)
	w.rest()
	seen := w.load.Seen()
	w.load.Keep(func(a load.Answer) bool { return a.Refusal != "ledger_unavailable" }) // these have no row
	if len(w.load.Seen()) == len(seen) {
		t.Error("no request was refused")
	}
	w.check()
}

func TestASecondGatewayOnTheSameSpoolIsRefused(t *testing.T) {
	t.Parallel()
	gw := binary.Start(t, load.Pool("http://127.0.0.1:9", 4))
	second := binary.New(t, load.Pool("http://127.0.0.1:9", 4), "WAYBILL_SPOOL="+filepath.Join(gw.Dir, "spool.db"))
	out, errs, code := second.Run("serve")
	if code != 3 || !strings.Contains(errs, "WAYBILL_SPOOL") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

func prove(t *testing.T, figures map[string]any) {
	t.Helper()
	if t.Failed() {
		return
	}
	line, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}
