package scenario

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// chance drives a random world: every run of a seed is the same.
type chance struct {
	*rand.Rand
	w    *World
	t    *testing.T
	ids  []string
	open []string
	n    int
	down bool
}

func newChance(t *testing.T, seed uint64) *chance {
	c := &chance{Rand: rand.New(rand.NewPCG(seed, 7)), w: New(), t: t}
	c.do("policy health_threshold=%d trial_backoff=%s", 1+c.IntN(3), pickOf(c, "30s", "5s"))
	if c.IntN(4) == 0 {
		c.do("policy when_exhausted=refuse")
	}
	for i := range 2 + c.IntN(4) {
		id := string(rune('a' + i))
		c.ids = append(c.ids, id)
		line := "enrol " + id + " family=big:m2*"
		if c.IntN(2) == 0 {
			line += " source=push"
		}
		if c.IntN(3) == 0 {
			line += " group=g"
		}
		if c.IntN(3) == 0 {
			line += fmt.Sprintf(" max=%d", 1+c.IntN(2))
		}
		if c.IntN(3) == 0 {
			line += fmt.Sprintf(" endpoint=e%d", c.IntN(2))
		}
		if c.IntN(3) == 0 {
			line += fmt.Sprintf(" weight=%d", 1+c.IntN(9))
		}
		c.do("%s", line)
	}
	if c.IntN(3) > 0 {
		strategy := pickOf(c, "balanced", "ordered", "round_robin", "least_busy")
		at := 1 + c.IntN(len(c.ids)-1)
		c.do("model m1 %s %s %s", strategy, strings.Join(c.ids[:at], ","), strings.Join(c.ids[at:], ","))
		c.do("model m2 %s %s", strategy, strings.Join(c.ids, ","))
	}
	return c
}

func pickOf(c *chance, words ...string) string { return words[c.IntN(len(words))] }

func (c *chance) do(format string, a ...any) {
	line := fmt.Sprintf(format, a...)
	if err := c.w.command(line); err != nil {
		c.t.Helper()
		c.t.Fatalf("%s: %v", line, err)
	}
}

func (c *chance) id() string { return c.ids[c.IntN(len(c.ids))] }

// outcomes are what upstreams answer in random worlds.
var outcomes = []string{
	"ok", "ok", "ok", "ok with weekly left=0 reached reset=+3d", "ok with 5h left=40 reset=+2h", "burst", "burst hint=+20s scope=model:m1", "burst hint=+1h scope=account",
	"window", "window hint=+3d", "window guessed=+90m scope=model:m1", "window scope=group hint=+2h", "402", "402 hint=+5h retry=false", "402 scope=model:m2", "401", "403", "403 retry=false",
	"forbidden permanent", "forbidden scope=model:m1", "500", "500", "500 hint=+1h", "529", "520", "network", "network row=endpoint", "timeout", "broken", "malformed", "empty",
	"unsupported", "404", "invalid", "413 row=always", "refused", "gone", "burst retry=false",
}

func (c *chance) reading() string {
	switch c.IntN(10) {
	case 0:
		return fmt.Sprintf("credit reached reset=+%dd", 1+c.IntN(30))
	case 1:
		return "credit not-reached percent=20 reset=+9d"
	case 2:
		return "billing paid end=+2h"
	case 3:
		return "credit reached reset=+9d m1:enable m2:available"
	case 4:
		return "weekly left=0 reset=+4d scope=family:big"
	case 5:
		return "weekly left=0 reached reset=+4d; 5h left=50 reset=+3h"
	case 6:
		return "5h left=0 reset=+1m scope=model:m1"
	case 7:
		return "5h left=0"
	default:
		return fmt.Sprintf("5h left=%d reset=+%dm", c.IntN(101), 1+c.IntN(300))
	}
}

func (c *chance) step() {
	c.n++
	switch k := c.IntN(40); {
	case k < 6:
		at := ""
		if c.IntN(4) == 0 {
			at = fmt.Sprintf("at=-%ds ", c.IntN(3000))
		}
		c.do("reading %s %s%s", c.id(), at, c.reading())
	case k < 18:
		name := fmt.Sprintf("r%d", c.n)
		line := "begin " + name + " model=" + pickOf(c, "m1", "m1", "m2")
		if c.IntN(3) > 0 {
			line += " session=" + pickOf(c, "s1", "s2", "s3")
		}
		if c.IntN(12) == 0 {
			line += " tie=" + c.id()
		}
		if len(c.w.Gateways) > 1 && c.IntN(2) == 0 {
			line += " on=2"
		}
		c.do("%s", line)
		c.open = append(c.open, name)
	case k < 30:
		c.answer()
	case k < 36:
		c.do("advance %s", pickOf(c, "10ms", "1s", "1s", "6s", "31s", "2m", "6m", "31m", "3h"))
	case k == 36:
		c.do("operator %s %s until=+1h", pickOf(c, "release", "park", "drain", "undrain", "undrain", "release"), c.id())
	case k == 37:
		c.layers()
	case k == 38:
		c.rare()
	}
}

// answer finishes or passes a request that is open.
func (c *chance) answer() {
	var open []string
	for _, name := range c.open {
		if r := c.w.requests[name]; r != nil && !r.Done {
			open = append(open, name)
		}
	}
	c.open = open
	if len(open) == 0 {
		return
	}
	name := open[c.IntN(len(open))]
	r := c.w.requests[name]
	switch {
	case r.open == nil:
	case c.IntN(5) == 0 && !r.open.passed:
		c.do("passed %s", name)
	case r.open.passed:
		c.do("answer %s %s", name, pickOf(c, "ok", "broken", "burst", "ok"))
	default:
		c.do("answer %s %s", name, outcomes[c.IntN(len(outcomes))])
	}
}

func (c *chance) layers() {
	switch {
	case len(c.w.Gateways) > 1:
		c.w.Gateways[1].Commit() // follows what the other wrote
	case c.down:
		c.do("ledger up")
		c.down = false
	case c.IntN(2) == 0:
		c.do("ledger down")
		c.down = true
	default:
		c.do("ledger %s", pickOf(c, "slow", "fast"))
	}
}

func (c *chance) rare() {
	switch c.IntN(6) {
	case 0:
		if !c.down {
			c.do("restart")
			c.open = nil
		}
	case 1:
		c.do("change %s epoch=%d", c.id(), 1+c.IntN(3))
	case 2:
		c.do("change %s group=%s", c.id(), pickOf(c, "g", "h"))
	case 3:
		if !c.down && len(c.w.Gateways) == 1 {
			c.do("ledger fast")
			c.do("gateway")
		}
	case 4:
		c.do("failed %s", c.id())
	}
}

// settle makes the ledger whole, so that it can be verified.
func (c *chance) settle() {
	for _, g := range c.w.Gateways {
		g.Offline, g.Slow = false, false
		g.Commit()
	}
	for _, g := range c.w.Gateways {
		g.follow()
	}
	c.w.took()
}

// worlds runs random worlds of n steps each, from the seed of WAYBILL_SEED on.
// WAYBILL_WORLDS asks for another number of them, and for a line of JSON.
// Batches run side by side and are named by their first seed.
func worlds(t *testing.T, count uint64, steps int, prepare func(*chance)) {
	t.Helper()
	const batch = 100
	first := number(t, "WAYBILL_SEED", 0)
	long := number(t, "WAYBILL_WORLDS", 0)
	if long > 0 {
		count = long
	}
	var decisions atomic.Int64
	t.Run("worlds", func(t *testing.T) {
		for from := first; from < first+count; from += batch {
			t.Run(strconv.FormatUint(from, 10), func(t *testing.T) {
				t.Parallel()
				for seed := from; seed < min(from+batch, first+count); seed++ {
					decisions.Add(int64(world(t, seed, steps, prepare)))
				}
			})
		}
	})
	if long > 0 && !t.Failed() {
		fmt.Printf(`{"proved":%q,"worlds":%d,"decisions":%d,"seed":%d}`+"\n", t.Name(), count, decisions.Load(), first)
	}
}

// world runs one, and makes every decision of its ledger again.
func world(t *testing.T, seed uint64, steps int, prepare func(*chance)) (decisions int) {
	c := newChance(t, seed)
	prepare(c)
	defer func() {
		if t.Failed() {
			t.Logf("seed %d, step %d, at %s", seed, c.n, short(c.w.Elapsed()))
		}
	}()
	for range steps {
		c.step()
		if t.Failed() {
			t.FailNow()
		}
	}
	c.settle()
	n, err := c.w.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// number is a setting of the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
