package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Size is how large a world is.
type Size struct {
	Gateways int
	Accounts int
	Steps    int
	Skewed   bool  // gateways' clocks are wrong: laws that compare two of them do not apply; the ledger's may be wrong in any world
	Crowded  bool  // two accounts share one quota group
	Spool    int64 // bytes of each gateway's spool; 0: it has none
}

func (s Size) String() string {
	extra := ""
	if s.Skewed {
		extra += ", wrong clocks"
	}
	if s.Crowded {
		extra += ", one quota group"
	}
	if s.Spool > 0 {
		extra += fmt.Sprintf(", spools of %d bytes", s.Spool)
	}
	return fmt.Sprintf("%d gateways, %d accounts, %d steps%s", s.Gateways, s.Accounts, s.Steps, extra)
}

// Step is one thing that happens. A, B and C are raw numbers that the action
// takes modulo of what exists then, so that any part of a script is a script.
type Step struct {
	Do      string
	A, B, C uint32
	Pass    time.Duration // virtual time that passes after it
}

// odds say how often an action comes, in parts of their sum.
var odds = []struct {
	do    string
	parts int
}{
	{"request", 30}, {"answer", 34}, {"pass", 8}, {"reading", 9}, {"upstream", 7},
	{"crash", 2}, {"start", 5}, {"deploy", 2}, {"cut", 2}, {"heal", 4}, {"fault", 6},
	{"operator", 3}, {"epoch", 2}, {"reload", 2}, {"leave", 2}, {"wake", 3}, {"clock", 2}, {"burst", 2}, {"nag", 2}, {"snapshot", 3},
}

// Script is the world that a seed means: its size and what happens in it.
func Script(seed uint64) (Size, []Step) {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	size := Size{Gateways: 2 + r.IntN(3), Accounts: 1 + r.IntN(4), Steps: 30 + r.IntN(50), Skewed: r.IntN(5) == 0}
	size.Spool = []int64{0, 1 << 30, 1 << 30, 8 << 10}[r.IntN(4)]
	size.Crowded = size.Accounts > 2 && r.IntN(3) == 0
	sum := 0
	for i := range odds {
		sum += odds[i].parts
	}
	steps := make([]Step, size.Steps)
	for i := range steps {
		steps[i] = Step{Do: draw(r.IntN(sum)), A: r.Uint32(), B: r.Uint32(), C: r.Uint32(), Pass: span(r)}
	}
	return size, steps
}

func draw(n int) string {
	for i := range odds {
		if n -= odds[i].parts; n < 0 {
			return odds[i].do
		}
	}
	return odds[0].do
}

// span is mostly short: what follows at once is where the order matters. Odd
// microseconds keep two timers from meeting by design of the script.
func span(r *rand.Rand) time.Duration {
	odd := time.Duration(1+r.IntN(997)) * time.Microsecond
	switch r.IntN(10) {
	case 0, 1, 2, 3:
		return odd
	case 4, 5, 6:
		return odd + time.Duration(r.IntN(50))*time.Millisecond
	case 7, 8:
		return odd + time.Duration(r.IntN(4000))*time.Millisecond
	}
	return odd + time.Duration(r.IntN(60))*time.Second
}

func (s Step) String() string {
	return fmt.Sprintf("%s %d %d %d, then %v", s.Do, s.A, s.B, s.C, s.Pass)
}
