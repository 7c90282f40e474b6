package quota

import (
	"context"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/waybill/waybill/events"
)

// Bounds of the poller as a whole.
const (
	budget      = 4                      // fetches at a time
	spacing     = 100 * time.Millisecond // between the starts of two, over all accounts
	firstWithin = 10 * time.Second       // the first fetches are spread over this
	maxBackoff  = time.Hour
	// nudgeRest is the least time between a fetch and one that a nudge asks
	// for: an endpoint may answer every time with what asks for a new answer.
	nudgeRest = 15 * time.Second
)

// Target is an account whose quota is fetched.
type Target struct {
	Account    string
	Source     Source
	Credential Credential
}

// PollerOptions make a poller.
type PollerOptions struct {
	Fetcher *Fetcher
	// Sink takes the events of fetches. A sink that fails costs the reading,
	// nothing else.
	Sink func(ctx context.Context, drafts ...events.Draft) error
	// Lease runs fn while this process is the one that polls an account, and
	// again whenever it is again; fn's context ends when another may. nil:
	// there is no other process.
	Lease  func(ctx context.Context, account string, fn func(ctx context.Context))
	Logger *slog.Logger
}

// Poller asks the usage endpoints of many accounts, each in its own interval:
// one poller per account, a global budget, jitter that is a hash, and patience
// with endpoints that fail or name a time (B061).
type Poller struct {
	o    PollerOptions
	work chan struct{} // the budget

	mu    sync.Mutex
	runs  map[string]*run
	ctx   context.Context // of Run; nil before
	group sync.WaitGroup
	next  events.Time // start of the next fetch, over all accounts
}

// run is the poller of one account.
type run struct {
	target Target
	stop   context.CancelFunc
	nudge  chan struct{}
}

// NewPoller is a poller without accounts.
func NewPoller(o PollerOptions) *Poller {
	if o.Lease == nil {
		o.Lease = func(ctx context.Context, _ string, fn func(context.Context)) { fn(ctx) }
	}
	return &Poller{o: o, work: make(chan struct{}, budget), runs: map[string]*run{}}
}

// Run polls until ctx ends, and returns when the last fetch has.
func (p *Poller) Run(ctx context.Context) {
	p.mu.Lock()
	p.ctx = ctx
	for _, r := range p.runs {
		p.start(r)
	}
	p.mu.Unlock()
	<-ctx.Done()
	p.group.Wait()
}

// Adopt replaces the accounts. One whose source has not changed goes on as it
// was, with what it knows of its endpoint.
func (p *Poller) Adopt(targets []Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := make(map[string]*run, len(targets))
	for _, t := range targets {
		if r := p.runs[t.Account]; r != nil && r.target.same(&t) {
			next[t.Account] = r
			delete(p.runs, t.Account)
			continue
		}
		next[t.Account] = &run{target: t, nudge: make(chan struct{}, 1)}
	}
	for _, r := range p.runs {
		if r.stop != nil {
			r.stop()
		}
	}
	for _, r := range next {
		if p.ctx != nil && r.stop == nil {
			p.start(r)
		}
	}
	p.runs = next
}

// same: what an answer is read by is compared by what it was made of.
func (t *Target) same(u *Target) bool {
	return t.Credential == u.Credential && t.Source.Name == u.Source.Name && t.Source.mapping == u.Source.mapping && t.Source.URL == u.Source.URL &&
		t.Source.Interval == u.Source.Interval && maps.EqualFunc(t.Source.Header, u.Source.Header, slices.Equal)
}

// start needs p.mu.
func (p *Poller) start(r *run) {
	ctx, stop := context.WithCancel(p.ctx)
	r.stop = stop
	p.group.Go(func() { p.o.Lease(ctx, r.target.Account, func(ctx context.Context) { p.poll(ctx, r) }) })
}

// Nudge asks for a reading soon: somebody needs one. The endpoint's own wish
// for patience outranks it. Over several processes it counts where the account
// is polled.
func (p *Poller) Nudge(account string) {
	p.mu.Lock()
	r := p.runs[account]
	p.mu.Unlock()
	if r == nil {
		return
	}
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

// pace is what an account's poller knows of its endpoint.
type pace struct {
	fetches  uint64
	failures int
	last     events.Time // the newest answer; 0: none yet
	until    events.Time // the endpoint asked not to be asked before
}

// nudged is the earliest fetch that a nudge may bring.
func (at *pace) nudged() events.Time {
	if at.last == 0 {
		return at.until
	}
	return max(at.until, at.last.Add(nudgeRest))
}

// poll is the loop of one account.
func (p *Poller) poll(ctx context.Context, r *run) {
	var at pace
	wait := share(min(firstWithin, r.target.Source.Interval), r.target.Account, 0)
	for p.rest(ctx, r, wait, &at) && p.turn(ctx) {
		got := p.o.Fetcher.Fetch(ctx, &r.target.Source, r.target.Credential)
		<-p.work
		if ctx.Err() != nil {
			return // nobody's failure
		}
		p.tell(ctx, r, &got, at.failures)
		wait = at.after(&r.target, &got)
	}
}

// rest waits for the next fetch, or for a nudge that may come earlier.
func (p *Poller) rest(ctx context.Context, r *run, wait time.Duration, at *pace) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	due := p.o.Fetcher.Now().Add(wait)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-r.nudge:
			if at.failures == 0 {
				now := p.o.Fetcher.Now()
				due = min(due, max(now, at.nudged()))
				timer.Reset(due.Sub(now))
			}
		}
	}
}

// turn takes a place in the budget, and keeps starts apart.
func (p *Poller) turn(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case p.work <- struct{}{}:
	}
	p.mu.Lock()
	now := p.o.Fetcher.Now()
	start := max(now, p.next)
	p.next = start.Add(spacing)
	p.mu.Unlock()
	timer := time.NewTimer(start.Sub(now))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		<-p.work
		return false
	case <-timer.C:
		return true
	}
}

// tell records a fetch. Failures in a row are logged once.
func (p *Poller) tell(ctx context.Context, r *run, got *Fetched, before int) {
	if err := p.o.Sink(ctx, got.Draft(r.target.Account, &r.target.Source)); err != nil && ctx.Err() == nil {
		p.o.Logger.Warn("a reading could not be recorded", "account", r.target.Account, "error", err)
	}
	if got.Fault != "" && before == 0 {
		p.o.Logger.Warn("quota cannot be fetched", "account", r.target.Account, "source", r.target.Source.Name,
			"endpoint", r.target.Source.Origin(), "status", got.Status, "error", got.Fault)
	}
}

// after is the wait until the next fetch: the interval, doubled per failure in
// a row, never before the instant that the endpoint named. That instant only
// moves later: an older answer that arrives late does not shorten it.
func (at *pace) after(t *Target, got *Fetched) time.Duration {
	at.fetches++
	at.last = got.At
	at.until = max(at.until, got.RetryAt)
	every := t.Source.Interval
	if got.Reading != nil {
		at.failures = 0
	} else {
		at.failures++
		every = min(every<<min(at.failures, 16), max(every, maxBackoff))
		if every <= 0 {
			every = maxBackoff
		}
	}
	// A tenth of jitter, so that accounts drift apart.
	every += share(every/10, t.Account, at.fetches)
	return max(every, at.until.Sub(got.At))
}

// share is a fraction of d that is a hash of the account and the count: spread
// over accounts, the same in every run.
func share(d time.Duration, account string, n uint64) time.Duration {
	h := fnv.New64a()
	h.Write([]byte(account))
	h.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)})
	part, _ := bits.Mul64(h.Sum64(), uint64(d))
	return time.Duration(part)
}
