package ledger

import (
	"sync"

	"github.com/waybill/waybill/events"
)

// tail keeps the newest commits of this process, so that followers need not
// read them again, and tells followers that the ledger has grown.
type tail struct {
	keep int

	mu      sync.Mutex
	runs    [][]events.Event // each contiguous, oldest first
	size    int              // events in runs
	head    events.Position  // highest position that is known to be committed
	changed chan struct{}    // closed at the next growth
}

func newTail(keep int) *tail { return &tail{keep: keep, changed: make(chan struct{})} }

// push adds a commit; its events are contiguous.
func (t *tail) push(run []events.Event) {
	if len(run) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs = append(t.runs, run)
	for t.size += len(run); t.size > t.keep && len(t.runs) > 1; {
		t.size -= len(t.runs[0])
		t.runs[0] = nil
		t.runs = t.runs[1:]
	}
	t.head = max(t.head, run[len(run)-1].Position)
	t.signal()
}

// advance learns of a committed position.
func (t *tail) advance(p events.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p > t.head {
		t.head = p
		t.signal()
	}
}

// poke makes followers look at the store.
func (t *tail) poke() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.signal()
}

func (t *tail) signal() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// after is what a follower at a position does next: take the run, or else read
// the store up to a position, or else (upTo <= at) wait for changed.
func (t *tail) after(at events.Position) (run []events.Event, upTo events.Position, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	upTo = t.head
	for i := len(t.runs) - 1; i >= 0; i-- {
		r := t.runs[i]
		first, last := r[0].Position, r[len(r)-1].Position
		if last <= at {
			break
		}
		if first <= at+1 {
			return r[at+1-first:], upTo, t.changed
		}
		upTo = first - 1
	}
	return nil, upTo, t.changed
}
