package engine

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger/ledgertest"
)

func TestIDsAreUUIDv7InOrder(t *testing.T) {
	ids := NewIDs()
	now := events.At(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	var last uuid.UUID
	for i := range 20_000 { // more than the counter holds in one millisecond
		id := ids.Next(now)
		if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s is version %d, variant %s", id, id.Version(), id.Variant())
		}
		if i > 0 && id.String() <= last.String() {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
	if sec, _ := last.Time().UnixTime(); sec != now.Std().Unix() {
		t.Errorf("its time is %d", sec)
	}
}

func TestIDsOfManyGoroutinesDiffer(t *testing.T) {
	ids, now := NewIDs(), events.At(time.Now())
	var mu sync.Mutex
	seen := map[uuid.UUID]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				id := ids.Next(now)
				mu.Lock()
				if seen[id] {
					t.Errorf("%s twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestTheClockIsCorrectedSlowlyAndNeverRunsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, skew := range []time.Duration{time.Hour, -time.Hour} {
			c := NewClock()
			start := c.Now()
			if !c.Compare(start, start.Add(skew), start, 2*time.Second) || c.Check() == nil {
				t.Fatalf("%s went unnoticed", skew)
			}
			last := start
			for range 100 {
				time.Sleep(time.Second)
				now := c.Now()
				if now <= last {
					t.Fatalf("%s then %s", last, now)
				}
				last = now
			}
			moved := last.Sub(start) - 100*time.Second
			if want := (100 * time.Second / slewShare) * (skew / skew.Abs()); moved != want {
				t.Errorf("skew %s: corrected by %s in 100 s, want %s", skew, moved, want)
			}
		}
	})
}

func TestTheClockIsWholeOnceTheSkewIsMadeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock()
		start := c.Now()
		c.Compare(start, start.Add(3*time.Second), start, 2*time.Second)
		time.Sleep(10 * time.Minute)
		if got := c.Now().Sub(start); got != 10*time.Minute+3*time.Second {
			t.Errorf("10 minutes later it is %s later", got)
		}
		now := c.Now()
		if !c.Compare(now, now+1, now+2, 2*time.Second) || c.Check() != nil {
			t.Error("it does not agree again")
		}
	})
}

func TestAWallClockStepChangesNoDecisionAndIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a")
		var step time.Duration
		w.store.SetClock(func() events.Time { return events.At(time.Now().Add(step)) })
		before := w.Now()
		step = time.Hour // the machine's wall clock, which the store reads
		a := w.decide(w.ask())
		if a.Stamp.DecidedAt.Sub(before) > time.Second {
			t.Errorf("decided at %s, began at %s", a.Stamp.DecidedAt, before)
		}
		if err := a.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if w.Ready() == nil {
			t.Error("ready with a clock that is an hour off the ledger's")
		}
		a.Succeeded(events.Answer{}, "stop")
		w.stop()
	})
}

func TestCursorsAreBounded(t *testing.T) {
	var c cursors
	for i := range 3 * maxCursors {
		c.advance(string(rune(i + 1000)))
	}
	if len(c.of) != maxCursors || c.shared != 2*maxCursors {
		t.Errorf("%d cursors, %d shared", len(c.of), c.shared)
	}
	if c.get("never seen") != c.shared || c.get(string(rune(1000))) != 1 {
		t.Error("wrong cursor")
	}
}

func TestListsAreFoundByContentAndForgottenInOrder(t *testing.T) {
	var l lists
	of := func(i int) []events.Verdict { return []events.Verdict{{Account: uint32(i)}, {Evidence: 7}} }
	for i := range maxLists + 1 {
		ref, key := l.find(of(i))
		if ref != 0 {
			t.Fatalf("list %d was known", i)
		}
		l.add(key, of(i), uint64(100+i))
	}
	if ref, _ := l.find(of(0)); ref != 0 {
		t.Error("the oldest was kept")
	}
	if ref, _ := l.find(of(maxLists)); ref != -events.Ref(100+maxLists) {
		t.Errorf("reference %d", ref)
	}
	l.committed(100+maxLists, 9)
	if ref, _ := l.find(of(maxLists)); ref != 9 {
		t.Errorf("reference %d after the commit", ref)
	}
}
