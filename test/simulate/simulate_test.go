package simulate

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// number is a setting of a long run.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func play(t *testing.T, seed uint64, size Size, steps []Step, tracing bool) (r Result) {
	synctest.Test(t, func(*testing.T) { r = Run(seed, size, steps, tracing) })
	return r
}

// explain is all that a failure is reproduced from: the seed, the size, and a
// shortened history.
func explain(t *testing.T, seed uint64, r Result) string {
	size, steps := Script(seed)
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s: at step %d: %v\nmake simulate SEED=%d replays it\n", seed, size, r.Step, r.Failure, seed)
	small, short := Shrink(size, steps, Law(r.Failure), time.Now().Add(time.Duration(number(t, "WAYBILL_SHRINK", 10))*time.Second), func(s Size, steps []Step) error {
		return play(t, seed, s, steps, false).Failure
	})
	again := play(t, seed, small, short, true)
	fmt.Fprintf(&b, "shortened to %s: %v\n%s\n", small, again.Failure, strings.Join(again.History, "\n"))
	return b.String()
}

// tally is what many worlds had in them.
type tally struct {
	mu sync.Mutex
	Result
	worlds int
}

func (s *tally) add(r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worlds++
	s.Events += r.Events
	s.Requests += r.Requests
	s.Acked += r.Acked
	s.Refused += r.Refused
	s.Trials += r.Trials
	s.Crashes += r.Crashes
	s.Outages += r.Outages
}

// worlds plays n worlds from a seed on, on all processors, until one fails.
func worlds(t *testing.T, first uint64, n int) *tally {
	var next atomic.Int64
	var sum tally
	t.Run("worlds", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("some", func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1) - 1; i < int64(n) && !t.Failed(); i = next.Add(1) - 1 {
					seed := first + uint64(i)
					size, steps := Script(seed)
					r := play(t, seed, size, steps, false)
					sum.add(r)
					if r.Failure != nil {
						next.Store(int64(n))
						t.Fatal(explain(t, seed, r))
					}
				}
			})
		}
	})
	return &sum
}

// Nothing is wrong in any world. SEED is the first, WAYBILL_WORLDS how many.
func TestEveryLawHoldsInEveryWorld(t *testing.T) {
	first, n := number(t, "SEED", 1), number(t, "WAYBILL_WORLDS", 250)
	began := time.Now()
	s := worlds(t, uint64(first), n)
	if t.Failed() {
		return
	}
	if n >= 100 && (s.Acked == 0 || s.Refused == 0 || s.Trials == 0 || s.Crashes == 0 || s.Outages == 0) {
		t.Errorf("the worlds are too quiet to prove anything: %+v", s.Result)
	}
	line, err := json.Marshal(map[string]any{"prove": "simulate", "seed": first, "worlds": s.worlds, "failures": 0,
		"events": s.Events, "requests": s.Requests, "answers": s.Acked, "refusals": s.Refused, "trials": s.Trials,
		"crashes": s.Crashes, "partitions": s.Outages, "seconds": int(time.Since(began).Seconds())})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}

// One world with everything that happens in it: make simulate SEED=n.
func TestOneWorldIsTold(t *testing.T) {
	seed := uint64(number(t, "SEED", 1))
	size, steps := Script(seed)
	r := play(t, seed, size, steps, true)
	if os.Getenv("WAYBILL_TRACE") != "" {
		fmt.Printf("seed %d, %s\n%s\n", seed, size, strings.Join(r.History, "\n"))
	}
	if len(r.History) == 0 {
		t.Error("nothing is told")
	}
	if r.Failure != nil {
		t.Error(explain(t, seed, r))
	}
}

func TestASeedReplaysAlike(t *testing.T) {
	first := uint64(number(t, "SEED", 1))
	for seed := first; seed < first+20; seed++ {
		size, steps := Script(seed)
		a, b := play(t, seed, size, steps, true), play(t, seed, size, steps, true)
		if a.Digest == b.Digest {
			continue
		}
		for i := range min(len(a.History), len(b.History)) {
			if a.History[i] != b.History[i] {
				t.Errorf("seed %d parts at\n%s\n%s", seed, a.History[i], b.History[i])
				break
			}
		}
	}
}
