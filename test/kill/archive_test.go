package kill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/load"
	"github.com/waybill/waybill/test/postgres"
)

// segment is how many positions the worlds of these tests archive at a time.
const segment = 100

// archiving is a world whose events leave for a directory.
type archiving struct {
	*world
	dir    string
	served int // how often its gateway has served
	kills  int
}

// TestArchivingMayBeKilledAnywhere: whenever the process that archives is
// killed, every event is live or archived, the next one finishes, and the
// ledger verifies across both.
func TestArchivingMayBeKilledAnywhere(t *testing.T) {
	for _, c := range []struct {
		name string
		on   func(t *testing.T) *postgres.Server
	}{{"SQLite", file}, {"PostgreSQL", database}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &archiving{world: prepare(t, c.on(t), fmt.Sprintf("ledger: {segment: %d}\n", segment))}
			w.dir = filepath.Join(w.gw.Dir, "archive")
			stops := w.atEveryStop()
			n := cycles(4, 4)
			w.atArbitraryInstants(n)
			w.finish()
			w.tell(map[string]any{"kind": "archiving on " + c.name, "cycles": n, "planted_stops": stops, "kills": w.kills,
				"positions": w.book.check.Last().Position, "archived": w.anchor(), "neither_live_nor_archived": 0})
		})
	}
}

// serve lets the gateway serve until so many segments are whole, and stop.
func (w *archiving) serve(segments int) {
	w.t.Helper()
	w.gw.Up()
	for ready := false; !ready; {
		w.served++
		l := load.Drive(w.gw.URL, 8, w.seed<<16+uint64(w.served))
		w.answered(l, 50)
		l.Rest()
		ready = len(w.layout().Whole) > segments
	}
	if code := w.gw.Stop(); code != 0 {
		w.t.Fatalf("exit code %d after SIGTERM", code)
	}
	w.read()
}

func (w *archiving) layout() ledger.Layout {
	w.t.Helper()
	s := w.reader()
	defer s.Close()
	l, err := s.(ledger.Segmented).Layout(w.t.Context(), segment)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// anchor is the last position that left.
func (w *archiving) anchor() events.Position {
	w.t.Helper()
	l := w.layout()
	return l.Anchor().Position
}

// intact: the ledger is what it was, in the store and the archives together.
func (w *archiving) intact() {
	w.t.Helper()
	s := archive.Over(w.reader(), archive.NewPast(w.dir))
	defer s.Close()
	w.book.walk(w.t, s)
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// atEveryStop kills processes that stand still before each step, and then at
// each place where they look whether to go on: at the first, at the second,
// until one has got through all segments. In the short form it is one place in
// some.
func (w *archiving) atEveryStop() (stops int) {
	w.t.Helper()
	w.serve(4)
	for _, step := range []string{"write", "verify", "detach"} {
		if !w.killChild(stop{Step: step}) {
			w.t.Fatalf("a process that was to stop before step %s went on", step)
		}
		stops++
		w.intact()
	}
	stride := 7
	if number("WAYBILL_KILL_CYCLES", 0) > 0 {
		stride = 1
	}
	for look := 0; w.killChild(stop{Look: look}); look += stride {
		stops++
		w.intact()
	}
	w.intact()
	if left := w.layout().Whole; len(left) > 0 {
		w.t.Fatalf("%+v were left", left)
	}
	return stops
}

// atArbitraryInstants kills the command itself, somewhere between the first
// file that it begins and its end.
func (w *archiving) atArbitraryInstants(n int) {
	w.t.Helper()
	w.serve(3)
	took := w.command(binary.Patience)
	for i := range n {
		if len(w.layout().Whole) < 2 {
			w.serve(4 + n/2)
		}
		w.command(took * time.Duration(i*37%100) / 100)
		w.intact()
	}
}

// command archives two segments and is killed so long after it has begun to
// write, if it has not ended by then. It returns how long it wrote.
func (w *archiving) command(instant time.Duration) time.Duration {
	w.t.Helper()
	before := w.files()
	cmd := w.gw.Command("ledger", "archive", "--to", fmt.Sprint(w.anchor()+2*segment), "-o", w.dir)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // what became of it is seen in the ledger
	}()
	binary.Until(w.t, "the command writes, or ends", func() bool {
		select {
		case <-ended:
			return true
		default:
			return w.files() != before
		}
	})
	begun := time.Now()
	select {
	case <-ended:
	case <-time.After(instant):
		_ = cmd.Process.Kill() // it may have ended just now
		w.kills++
	}
	<-ended
	return time.Since(begun)
}

// files counts what lies in the directory of the archives.
func (w *archiving) files() int {
	w.t.Helper()
	all, err := os.ReadDir(w.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return len(all)
}

// finish lets a last run go through and has the commands prove the whole.
func (w *archiving) finish() {
	w.t.Helper()
	binary.Until(w.t, "the database lets go of the last one", func() bool {
		out, errs, code := w.gw.Run("ledger", "archive", "--to", fmt.Sprint(w.book.check.Last().Position), "-o", w.dir)
		busy := strings.Contains(errs, archive.ErrBusy.Error())
		if code != 0 && !busy {
			w.t.Fatalf("the last run: exit code %d\n%s%s", code, out, errs)
		}
		return !busy
	})
	w.intact()
	if left := w.layout().Whole; len(left) > 0 {
		w.t.Errorf("%+v were left", left)
	}
	if parts, err := filepath.Glob(filepath.Join(w.dir, ".*")); err != nil || len(parts) > 0 {
		w.t.Errorf("half files were left: %q %v", parts, err)
	}
	if v := w.gw.Verify(); v.Positions != int64(w.book.check.Last().Position) {
		w.t.Errorf("%d positions of %d verify", v.Positions, w.book.check.Last().Position)
	}
	w.serve(0)
}
