package credential

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// Bounds of renewals.
const (
	renewTimeout  = 30 * time.Second // of one renewal, whoever waits for it
	firstBackoff  = 30 * time.Second // between renewals that fail, doubled
	lastBackoff   = 10 * time.Minute
	shortest      = time.Minute     // a token is renewed this long before its end
	longestMargin = 5 * time.Minute // or this long, when it lives long
)

// Options make a credential that is renewed.
type Options struct {
	Account string
	// Fetch gets a token. Its context is never a client's.
	Fetch func(ctx context.Context) (Token, error)
	// Changed is told of each new credential, before it is sent; nil is nobody.
	Changed func(epoch events.Epoch)
	// Failed is told why a renewal failed, secrets removed; nil is nobody.
	Failed func(err error)
	Now    func() time.Time
}

// Renewed is a credential that Fetch gives. It is safe for concurrent use.
type Renewed struct {
	o       Options
	current atomic.Pointer[held]

	mu      sync.Mutex
	flight  *flight
	failed  int       // renewals in a row that gave nothing new
	resting time.Time // no renewal before
}

// held is the credential in use.
type held struct {
	Token
	epoch events.Epoch
	since time.Time
}

// flight is one renewal under way.
type flight struct{ done chan struct{} }

// New makes a credential. It has no token before Load or the first Refresh.
func New(o Options) *Renewed {
	r := &Renewed{o: o}
	r.current.Store(&held{})
	return r
}

// ErrNone says that there is no token yet. Options.Failed was told why, or will
// be when what runs has ended.
var ErrNone = errors.New("no credential yet")

// Load fetches the first token. It waits as long as ctx allows; what runs by
// then goes on, and its token is used when it comes.
func (r *Renewed) Load(ctx context.Context) error {
	if r.Refresh(ctx, "") {
		return nil
	}
	return ErrNone
}

// Token is what to send now and the epoch of evidence about it.
func (r *Renewed) Token() (string, events.Epoch) {
	h := r.current.Load()
	return h.Secret, h.epoch
}

// Refresh is asked after the provider refused a token. It says whether there is
// another one now: the one that somebody fetched meanwhile, or one fetched for
// all who ask. A caller that leaves ends its own wait only.
func (r *Renewed) Refresh(ctx context.Context, rejected string) bool {
	if now, _ := r.Token(); now != rejected && now != "" {
		return true
	}
	f := r.join()
	if f == nil {
		return false
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return false
	}
	now, _ := r.Token()
	return now != rejected && now != ""
}

// join is the renewal under way, or a new one; nil while failures rest.
func (r *Renewed) join() *flight {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flight != nil {
		return r.flight
	}
	if r.o.Now().Before(r.resting) {
		return nil
	}
	r.flight = &flight{done: make(chan struct{})}
	go r.fly(r.flight)
	return r.flight
}

// fly renews on a context of its own (B160). Its end is told last, when
// everything that a waiter may look at has changed.
func (r *Renewed) fly(f *flight) {
	ctx, cancel := context.WithTimeout(context.Background(), renewTimeout)
	defer cancel()
	t, err := r.o.Fetch(ctx)
	useless := err != nil
	if err == nil {
		old := r.current.Load()
		useless = t.Secret == old.Secret && !t.Expires.After(old.Expires)
		r.adopt(t)
	} else if r.o.Failed != nil {
		r.o.Failed(err)
	}
	r.mu.Lock()
	r.flight = nil
	r.rest(useless)
	r.mu.Unlock()
	close(f.done)
}

// rest sets how long nobody renews: after a failure, and after one that gave
// the very token that was refused.
func (r *Renewed) rest(useless bool) {
	if !useless {
		r.failed, r.resting = 0, time.Time{}
		return
	}
	pause := min(firstBackoff<<min(r.failed, 10), lastBackoff)
	r.failed++
	r.resting = r.o.Now().Add(pause)
}

// adopt puts a token to use; the same one again only moves its end.
func (r *Renewed) adopt(t Token) {
	old := r.current.Load()
	h := &held{Token: t, epoch: old.epoch, since: r.o.Now()}
	if t.Secret != old.Secret {
		h.epoch = provider.Epoch(r.o.Account, t.Secret)
		if r.o.Changed != nil {
			r.o.Changed(h.epoch)
		}
	}
	r.current.Store(h)
}

// Run renews before the token expires, until ctx ends. Without an end there is
// nothing to do.
func (r *Renewed) Run(ctx context.Context) {
	for {
		wait, ok := r.due()
		if !ok {
			wait = lastBackoff // a token that ends may come by a refresh
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if wait, ok = r.due(); !ok || wait > 0 {
			continue
		}
		if f := r.join(); f != nil {
			select {
			case <-ctx.Done():
				return
			case <-f.done:
			}
		}
	}
}

// due is how long until the token must be renewed, never less than the rest
// after failures. A tenth of its life is the margin, within bounds.
func (r *Renewed) due() (time.Duration, bool) {
	h := r.current.Load()
	if h.Secret == "" { // the first one has not come: after every rest another try
		r.mu.Lock()
		defer r.mu.Unlock()
		return max(0, r.resting.Sub(r.o.Now())), true
	}
	if h.Expires.IsZero() {
		return 0, false
	}
	margin := max(shortest, min(h.Expires.Sub(h.since)/10, longestMargin))
	at := h.Expires.Add(-margin)
	if at.Before(h.since.Add(time.Second)) { // a very short life: never in a loop
		at = h.since.Add(max(time.Second, h.Expires.Sub(h.since)/2))
	}
	r.mu.Lock()
	if at.Before(r.resting) {
		at = r.resting
	}
	r.mu.Unlock()
	return at.Sub(r.o.Now()), true
}
