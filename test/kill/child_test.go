package kill

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	store "github.com/waybill/waybill/ledger/postgres"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/test/binary"
)

// childVar makes the test binary the process that archives; it holds a stop.
const childVar = "WAYBILL_KILL_CHILD"

// stop says what a child archives, and where it stands still.
type stop struct {
	Ledger string // a path, or a URL
	Dir    string
	Step   string // before a step of archive.Run, or else
	Look   int    // where it looks for this time whether to go on
}

// stopped is what a child prints when it stands still.
const stopped = "stopped"

// standStill says so and waits for the kill; it does not outlive its parent.
func standStill() {
	fmt.Println(stopped)
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

// looking is a context whose holder stands still at a look.
type looking struct {
	context.Context
	left atomic.Int64
}

// Err implements context.Context.
func (l *looking) Err() error {
	if l.left.Add(-1) < 0 {
		standStill()
	}
	return l.Context.Err()
}

// archiveUntilKilled is what a child does.
func archiveUntilKilled() {
	var s stop
	err := json.Unmarshal([]byte(os.Getenv(childVar)), &s)
	if err == nil {
		err = s.archive(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s *stop) open(ctx context.Context) (ledger.Store, error) {
	if strings.HasPrefix(s.Ledger, "postgres:") {
		return store.Open(ctx, store.Options{URL: s.Ledger, Segment: segment, Silent: true})
	}
	return sqlite.Open(s.Ledger)
}

func (s *stop) archive(ctx context.Context) error {
	st, err := s.open(ctx)
	if err != nil {
		return err
	}
	o := archive.Options{Dir: s.Dir, Size: segment, Now: time.Now}
	if s.Step != "" {
		o.Step = func(at string) error {
			if at == s.Step {
				standStill()
			}
			return nil
		}
	} else {
		l := &looking{Context: ctx}
		l.left.Store(int64(s.Look))
		ctx = l
	}
	binary.Within(binary.Patience, func() bool { // a database may not have noticed yet that the last one is gone
		_, err = archive.Run(ctx, archive.Over(st, archive.NewPast(s.Dir)), o)
		return !errors.Is(err, archive.ErrBusy)
	})
	return errors.Join(err, st.Close())
}

// killChild runs a child until it stands still, and kills it. false: it got
// through.
func (w *archiving) killChild(s stop) bool {
	w.t.Helper()
	s.Dir, s.Ledger = w.dir, w.gw.Ledger()
	if w.database != nil {
		s.Ledger = w.database.URL
	}
	spec, err := json.Marshal(&s)
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(w.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+string(spec))
	var errs strings.Builder
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe() // closes when this process ends
	if err != nil {
		w.t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	stands := strings.TrimSpace(line) == stopped
	if stands {
		_ = cmd.Process.Kill()
		w.kills++
	}
	if err := cmd.Wait(); err != nil && !stands {
		w.t.Fatalf("a process that archives: %v\n%s", err, errs.String())
	}
	return stands
}
