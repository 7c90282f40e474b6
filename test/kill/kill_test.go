// Package kill holds the tests that end a process in the midst of its work,
// again and again: the built gateway on either store, the database under it,
// and the command that archives. Afterwards they ask whether the ledger kept
// what it promised.
package kill

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/waybill/waybill/test/load"
	"github.com/waybill/waybill/test/postgres"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		archiveUntilKilled()
		return
	}
	os.Exit(m.Run())
}

// kind is one way in which a process ends under load.
type kind struct {
	name  string
	short int // cycles when nobody says how many
	share int // one in so many cycles of those that are asked for
	on    func(t *testing.T) *postgres.Server
	blow  func(w *world, l *load.Traffic, i int) // ends it, and mends it
}

// kinds are those of the gateway on each store, and of the database itself.
var kinds = []kind{
	{name: "gateway on SQLite", short: 5, share: 1, on: file, blow: (*world).killGateway},
	{name: "gateway on PostgreSQL", short: 3, share: 1, on: database, blow: (*world).killGateway},
	{name: "PostgreSQL under a gateway", short: 3, share: 2, on: database, blow: (*world).crashDatabase},
}

// file is no server: the ledger is SQLite's.
func file(*testing.T) *postgres.Server { return nil }

// database is a server of its own that flushes what it commits.
func database(t *testing.T) *postgres.Server {
	t.Helper()
	s, err := postgres.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// verifyEvery is how often, in cycles, the command proves the whole ledger once
// the cycles are many; what is new is read in every one.
const verifyEvery = 20

// TestNothingIsLostByAKill: each first byte's decision is recorded once, what
// was acknowledged stays where it was said to be, the chain is whole, what was
// open is closed, every decision derives again. WAYBILL_KILL_CYCLES sets how
// often.
func TestNothingIsLostByAKill(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			k.prove(t, cycles(k.short, k.share))
		})
	}
}

// cycles is how often: one in so many of those that are asked for.
func cycles(short, share int) int {
	if n := number("WAYBILL_KILL_CYCLES", 0); n > 0 {
		return max(1, int(n)/share)
	}
	return short
}

func (k *kind) prove(t *testing.T, cycles int) {
	w := prepare(t, k.on(t), "")
	w.gw.Up()
	for i := range cycles {
		w.cycle(i, k.blow)
		if cycles <= verifyEvery || i%verifyEvery == verifyEvery-1 {
			w.gw.Verify()
		}
	}
	figures := w.end()
	figures["kind"], figures["cycles"] = k.name, cycles
	w.tell(figures)
}

// tell prints a line of figures.
func (w *world) tell(figures map[string]any) {
	w.t.Helper()
	if w.t.Failed() {
		return
	}
	figures["prove"], figures["seed"] = "kill", w.seed
	line, err := json.Marshal(figures)
	if err != nil {
		w.t.Fatal(err)
	}
	fmt.Println(string(line))
}

// number is a variable of the environment, or the short form's value.
func number(name string, short uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return short
}
