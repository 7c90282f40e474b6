package quota

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
)

func bubbleNow() events.Time { return events.At(time.Now()) }

// replicas are pollers that share leases: one mutex for each account.
type replicas struct {
	mu    sync.Mutex
	locks map[string]chan struct{}
}

func (r *replicas) lease(ctx context.Context, account string, fn func(context.Context)) {
	r.mu.Lock()
	if r.locks == nil {
		r.locks = map[string]chan struct{}{}
	}
	if r.locks[account] == nil {
		r.locks[account] = make(chan struct{}, 1)
	}
	lock := r.locks[account]
	r.mu.Unlock()
	select {
	case lock <- struct{}{}:
		fn(ctx)
		<-lock
	case <-ctx.Done():
	}
}

func TestAnAccountIsPolledByOneOfManyProcessesAndByTheNextWhenThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, shared := &endpoint{}, &replicas{}
		var stops []context.CancelFunc
		var all sync.WaitGroup
		for range 3 {
			p := NewPoller(PollerOptions{Fetcher: &Fetcher{Transport: e, Now: bubbleNow}, Sink: (&sink{}).take, Lease: shared.lease, Logger: slog.New(slog.DiscardHandler)})
			p.Adopt([]Target{target("a", time.Minute)})
			ctx, stop := context.WithCancel(t.Context())
			stops = append(stops, stop)
			all.Go(func() { p.Run(ctx) })
		}
		for n, stop := range stops {
			before := e.times()
			time.Sleep(10 * time.Minute)
			if asked := e.times() - before; asked < 9 || asked > 11 {
				t.Errorf("with %d gone, asked %d times in 10 minutes at a minute each", n, asked)
			}
			stop()
		}
		all.Wait()
	})
}

// TestAnEndpointThatAlwaysAsksForMoreIsAskedFourTimesAMinute nudges at every
// answer, as a reading without a reset does.
func TestAnEndpointThatAlwaysAsksForMoreIsAskedFourTimesAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		var p *Poller
		p = NewPoller(PollerOptions{Fetcher: &Fetcher{Transport: e, Now: bubbleNow}, Logger: slog.New(slog.DiscardHandler),
			Sink: func(context.Context, ...events.Draft) error { p.Nudge("a"); return nil }})
		p.Adopt([]Target{target("a", time.Hour)})
		ctx, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { p.Run(ctx) })
		time.Sleep(firstWithin + 10*time.Minute)
		if n := e.times(); n < 39 || n > 42 {
			t.Errorf("asked %d times in 10 minutes", n)
		}
		e.answers(func(int, *http.Request) (*http.Response, error) { return reply(500, ""), nil })
		time.Sleep(time.Minute)
		before := e.times()
		time.Sleep(30 * time.Minute)
		if n := e.times() - before; n > 1 {
			t.Errorf("a failing endpoint was asked %d times in half an hour", n)
		}
		stop()
		run.Wait()
	})
}
