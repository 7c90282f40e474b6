package kill

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/ledger"
	store "github.com/waybill/waybill/ledger/postgres"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/load"
	"github.com/waybill/waybill/test/postgres"
	"github.com/waybill/waybill/test/upstream"
)

// world is a gateway on a ledger of its own, and what clients and operators
// were told.
type world struct {
	t        *testing.T
	seed     uint64
	gw       *binary.Gateway
	database *postgres.Server // nil: the ledger is a file
	book     *book
}

// prepare is a world on a database, or without one on a file, that nobody
// serves yet. config stands before the accounts.
func prepare(t *testing.T, database *postgres.Server, config string) *world {
	t.Helper()
	w := &world{t: t, seed: number("SEED", 1), database: database, book: newBook()}
	up := upstream.New(t)
	up.Script("*", load.Faults(w.seed, 0.01))
	var env []string
	if database != nil {
		env = []string{"WAYBILL_LEDGER=" + database.URL, "WAYBILL_BUS=postgres"}
	}
	w.gw = binary.New(t, config+load.Pool(up.URL(), 8), env...)
	return w
}

// drive begins the load of a cycle, and an operator at work.
func (w *world) drive(i int) (*load.Traffic, *operator) {
	return load.Drive(w.gw.URL, 16, w.seed<<16+uint64(i)), operate(w.gw.Admin, fmt.Sprintf("cycle-%d", i))
}

// cycle is load, a blow in its midst, and a look at what is left.
func (w *world) cycle(i int, blow func(w *world, l *load.Traffic, i int)) {
	w.t.Helper()
	l, o := w.drive(i)
	defer o.rest()
	defer l.Rest()
	w.answered(l, 30+int64(i*37%80))
	blow(w, l, i)
	l.Rest()
	w.check(l.Seen(), o.rest())
}

func (w *world) answered(l *load.Traffic, n int64) {
	w.t.Helper()
	until := l.Answered() + n
	binary.Until(w.t, "answers under load", func() bool { return l.Answered() >= until })
}

// killGateway ends the gateway and starts it again. Every third start is
// killed, too: what it had begun to close is closed by the next.
func (w *world) killGateway(l *load.Traffic, i int) {
	w.t.Helper()
	w.gw.Kill()
	l.Rest()
	if i%3 == 2 {
		w.gw.Launch()
		<-time.After(time.Duration(i*53%400) * time.Millisecond) // an arbitrary instant of a start
		w.gw.Kill()
	}
	w.gw.Up()
}

// crashDatabase stops the database at once and starts it again, at times so
// soon that a commit is merely repeated, at times only after the gateway has
// gone over to its spool. Clients notice nothing.
func (w *world) crashDatabase(l *load.Traffic, i int) {
	w.t.Helper()
	if err := w.database.Crash(); err != nil { // pg_ctl stop -m immediate
		w.t.Fatal(err)
	}
	if i%2 == 1 {
		w.answered(l, int64(1+i*29%100))
	}
	if err := w.database.Restart(); err != nil {
		w.t.Fatal(err)
	}
	binary.Until(w.t, "the ledger is back", func() bool {
		status, notes := w.gw.Ready()
		return status == 200 && !strings.Contains(notes["ledger"], "spooling")
	})
	w.answered(l, 10)
	if n := l.Broken(); n > 0 {
		w.t.Errorf("cycle %d: %d clients got no answer", i, n)
	}
}

// check waits until nothing is open any more, and reads what is new.
func (w *world) check(seen []load.Answer, said []acknowledged) {
	w.t.Helper()
	w.book.note(seen, said)
	binary.Until(w.t, "nothing that an ended process had begun is open", func() bool {
		return len(binary.List[struct{}](w.gw, "/requests", "outcome=open")) == 0
	})
	binary.Within(binary.Patience, func() bool { // what went to the spool comes a little later
		w.read()
		return len(w.book.missing)+len(w.book.running) == 0 || w.t.Failed()
	})
	w.book.settle(w.t)
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// read reads what was appended since the last time.
func (w *world) read() {
	w.t.Helper()
	s := w.reader()
	defer s.Close()
	w.book.read(w.t, s)
}

// reader opens the ledger as any command does that asks it something.
func (w *world) reader() (s ledger.Store) {
	w.t.Helper()
	var err error
	if w.database == nil {
		s, err = sqlite.OpenReader(w.gw.Ledger())
	} else {
		s, err = store.Open(w.t.Context(), store.Options{URL: w.database.URL, ReadOnly: true})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// end proves the whole, and that the gateway still stops in good order.
func (w *world) end() map[string]any {
	w.t.Helper()
	v := w.gw.Verify()
	if code := w.gw.Stop(); code != 0 {
		w.t.Errorf("exit code %d after SIGTERM", code)
	}
	w.read()
	s := w.reader()
	defer s.Close()
	w.book.walk(w.t, s)
	return map[string]any{"first_bytes": w.book.firstBytes, "acknowledged": len(w.book.said), "decisions": v.Decisions, "rederived": v.Rederived,
		"positions": v.Positions, "closed_as_lost": w.book.lost, "missing": 0, "twice": 0, "open": 0}
}
