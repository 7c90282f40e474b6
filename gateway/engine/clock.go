package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/waybill/waybill/events"
)

// slewShare is the part of passing time by which a wrong clock is corrected:
// one twentieth, so that it never stands still and never runs back.
const slewShare = 20

// Clock is a process's wall clock (R19): a wall time taken at start and moved
// by the monotonic clock, so that a step of the system's clock changes no
// decision, and compared with the ledger's clock on every own append. What it
// is found to be off beyond the allowed skew is corrected slowly.
type Clock struct {
	mu    sync.Mutex
	start time.Time   // its monotonic part moves the clock
	wall  events.Time // at start
	off   int64       // microseconds added so far
	due   int64       // microseconds still to be added, slowly
	last  int64       // microseconds since start, at the last reading
	skew  int64       // newest comparison: how far the ledger is ahead
	wrong bool        // skew is beyond what is allowed
}

// NewClock starts a clock at the system's time.
func NewClock() *Clock {
	now := time.Now()
	return &Clock{start: now, wall: events.At(now)}
}

// Now is the corrected time. It never runs back.
func (c *Clock) Now() events.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := time.Since(c.start).Microseconds()
	if c.due != 0 {
		step := (since - c.last) / slewShare
		step = min(step, max(c.due, -c.due))
		if c.due < 0 {
			step = -step
		}
		if step != 0 {
			c.off, c.due = c.off+step, c.due-step
			c.last = since
		}
	} else {
		c.last = since
	}
	return c.wall + events.Time(since+c.off)
}

// Compare takes the ledger's time of an own event that was submitted and seen
// as committed at two of our instants: the ledger's must lie between them.
// Beyond the allowed skew the clock begins to be corrected. It returns whether
// it has just gone out of, or come back into, what is allowed.
func (c *Clock) Compare(submitted, recorded, seen events.Time, allowed time.Duration) (turned bool) {
	var skew int64
	switch {
	case recorded < submitted:
		skew = int64(recorded - submitted)
	case recorded > seen:
		skew = int64(recorded - seen)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.wrong
	c.skew, c.wrong = skew, max(skew, -skew) > allowed.Microseconds()
	c.due = 0
	if c.wrong {
		c.due = skew
	}
	return c.wrong != was
}

// Check says that the newest comparison was beyond the allowed skew.
func (c *Clock) Check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.wrong {
		return nil
	}
	return fmt.Errorf("clock is %s off the ledger's; it is being corrected slowly, check this machine's time service",
		time.Duration(c.skew)*time.Microsecond)
}
