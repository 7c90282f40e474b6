package gateway

import (
	"sync"
	"sync/atomic"
	"time"
)

// limits holds what clients have used of their own limits. It survives a
// reload: a client is its id.
type limits struct {
	mu  sync.Mutex
	all map[string]*allowance
}

// allowance is one client's use. Requests a minute are counted by the generic
// cell rate algorithm with a whole minute's burst: one instant, no window edge.
type allowance struct {
	inFlight atomic.Int64
	mu       sync.Mutex
	next     time.Time // theoretical arrival time
}

func (l *limits) of(id string) *allowance {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.all[id]
	if a == nil {
		if l.all == nil {
			l.all = map[string]*allowance{}
		}
		a = &allowance{}
		l.all[id] = a
	}
	return a
}

// take asks for a slot and a request of the minute. wait is how long until the
// rate allows one. A taken slot must be given back by release.
func (a *allowance) take(c *Client, now time.Time) (wait time.Duration, code string) {
	if a.inFlight.Add(1) > int64(c.MaxConcurrent) && c.MaxConcurrent > 0 {
		a.inFlight.Add(-1)
		return time.Second, codeClientSaturated
	}
	if wait := a.spend(c.RPM, now); wait > 0 {
		a.inFlight.Add(-1)
		return wait, codeClientRate
	}
	return 0, ""
}

func (a *allowance) spend(rpm uint64, now time.Time) time.Duration {
	if rpm == 0 {
		return 0
	}
	step := time.Minute / time.Duration(rpm)
	a.mu.Lock()
	defer a.mu.Unlock()
	next := a.next
	if next.Before(now) {
		next = now
	}
	if wait := next.Add(step).Sub(now) - time.Minute; wait > 0 {
		return wait
	}
	a.next = next.Add(step)
	return 0
}

func (a *allowance) release() { a.inFlight.Add(-1) }

// Codes of refusals that concern one client's own limits.
const (
	codeClientRate      = "client_rate_limited"
	codeClientSaturated = "client_saturated"
)
