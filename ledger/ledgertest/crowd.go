package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// CrowdVar says how many events RunCrowd appends.
const CrowdVar = "WAYBILL_CROWD"

// crowdEvents is how many they are when nobody says so: the race detector makes
// SQLite some twenty times slower.
const crowdEvents = 10_000

// RunCrowd lets a writer append to each log, all at once (the same log may
// stand there several times), while every log is followed and a reader tails
// the store by position alone. Each of them must see every event once, without
// a gap, and a writer's in its order. It prints its figures as a JSON line.
func RunCrowd(t *testing.T, tailed ledger.Store, logs ...*ledger.Log) {
	t.Helper()
	total := crowdEvents
	if n, err := strconv.Atoi(os.Getenv(CrowdVar)); err == nil {
		total = n
	}
	c := crowd{t: t, writers: len(logs), each: (total + len(logs) - 1) / len(logs)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.ctx = ctx
	begun := time.Now()
	readers := []*witness{c.tail(tailed)}
	followed := map[*ledger.Log]bool{}
	for _, l := range logs {
		if !followed[l] {
			followed[l] = true
			readers = append(readers, c.follow(l))
		}
	}
	var wg sync.WaitGroup
	for _, l := range logs {
		wg.Go(func() { appendAll(t, l, c.each) })
	}
	wg.Wait()
	c.written.Store(true)
	if t.Failed() {
		cancel()
	}
	late := time.AfterFunc(time.Minute, cancel) // for a follower that misses something
	defer late.Stop()
	stored := check(t, tailed)
	var missed, gaps, twice int
	for _, r := range readers {
		<-r.done
		m, g, d := r.judge(stored)
		missed, gaps, twice = missed+m, gaps+g, twice+d
	}
	if len(stored) != c.all() || missed+gaps+twice > 0 {
		t.Errorf("%d events of %d are stored; readers missed %d, saw %d gaps and %d events twice", len(stored), c.all(), missed, gaps, twice)
	}
	if !t.Failed() {
		c.tell(fmt.Sprintf("%T", tailed), len(readers), time.Since(begun))
	}
}

// crowd is a RunCrowd under way.
type crowd struct {
	t       *testing.T
	ctx     context.Context
	writers int
	each    int         // events of a writer
	written atomic.Bool // all of them
}

func (c *crowd) all() int { return c.writers * c.each }

func (c *crowd) tell(store string, readers int, took time.Duration) {
	line, err := json.Marshal(map[string]any{"prove": "conformance", "store": store, "writers": c.writers, "readers": readers, "events": c.all(), "missed": 0, "gaps": 0, "twice": 0, "events_per_s": int(float64(c.all()) / took.Seconds()), "seed": 0})
	if err != nil {
		c.t.Fatal(err)
	}
	fmt.Println(string(line))
}

// witness is what one reader saw, in its order.
type witness struct {
	done chan struct{}
	seen []place
}

// place is what of an event tells it apart.
type place struct {
	position events.Position
	id       uuid.UUID
}

// judge compares what was seen with what is stored.
func (w *witness) judge(stored []ledger.Row) (missed, gaps, twice int) {
	count := make(map[place]int, len(w.seen))
	for i, p := range w.seen {
		if count[p]++; count[p] > 1 {
			twice++
		} else if i > 0 && p.position != w.seen[i-1].position+1 || i == 0 && p.position != 1 {
			gaps++
		}
	}
	for i := range stored {
		if count[place{stored[i].Position, stored[i].ID}] == 0 {
			missed++
		}
	}
	return missed, gaps, twice
}

// tail reads by position alone, page after page: nothing wakes it, and nothing
// tells it where the end is.
func (c *crowd) tail(s ledger.Store) *witness {
	w := &witness{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		at := events.Position(0)
		for {
			end := c.written.Load()
			from := len(w.seen)
			err := s.Scan(c.ctx, at, ledger.Filter{}, 1000, func(r *ledger.Row) error {
				at = r.Position
				w.seen = append(w.seen, place{r.Position, r.ID})
				return nil
			})
			if err != nil {
				c.t.Errorf("tail: %v", err)
				return
			}
			if len(w.seen) == from {
				if end {
					return
				}
				time.Sleep(5 * time.Millisecond) // nothing tells it
			}
		}
	}()
	return w
}

// errEnough ends a follower.
var errEnough = errors.New("enough")

// follow follows a log to the last event; a writer's events must come in its
// order.
func (c *crowd) follow(l *ledger.Log) *witness {
	w := &witness{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		own := map[uuid.UUID]uint64{}
		err := l.Follow(c.ctx, 0, func(run []events.Event) error {
			for i := range run {
				e := &run[i]
				if own[e.Writer]++; e.WriterSeq != own[e.Writer] {
					c.t.Errorf("position %d is event %d of its writer, want %d", e.Position, e.WriterSeq, own[e.Writer])
				}
				w.seen = append(w.seen, place{e.Position, e.ID})
			}
			if len(w.seen) >= c.all() {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			c.t.Errorf("follow: %v", err)
		}
	}()
	return w
}

// appendAll appends n events in tickets of one to five, and checks the places.
func appendAll(t *testing.T, l *ledger.Log, n int) {
	g := NewMaker()
	last := events.Position(0)
	var open []*ledger.Ticket
	for made := 0; made < n; {
		size := min(1+made%5, n-made)
		made += size
		u := ledger.Awaited
		if made%3 == 0 {
			u = ledger.Behind
		}
		open = append(open, l.Submit(u, g.Drafts(size)...))
		if len(open) < 16 && made < n {
			continue
		}
		for _, tk := range open {
			evs, err := tk.Wait(t.Context())
			if err != nil {
				t.Errorf("append: %v", err)
				return
			}
			for i := range evs {
				if evs[i].Position <= last {
					t.Errorf("a writer's events at %d and then %d", last, evs[i].Position)
				}
				last = evs[i].Position
			}
		}
		open = open[:0]
	}
}
