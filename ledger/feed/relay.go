// Package feed hands committed events to the world outside, through any
// Watermill publisher: at least once, in the order of their positions, with a
// durable place per consumer. The ledger is the outbox. Nothing that decides
// or folds passes through here; it must not know who the consumers are.
package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// saveEvery is how often a place is kept while nothing is selected.
const saveEvery = time.Second

// Options is one consumer.
type Options struct {
	Name      string // of its files, and the topic that is published to
	Dir       string // where its place and its poison queue are kept
	Publisher message.Publisher
	Select    []Selector    // absent: every event
	Attempts  int           // deliveries until an event is put aside; 0: tried until it is taken
	Backoff   time.Duration // first rest after a failure, doubled up to BackoffCap
	Logger    *slog.Logger
}

// BackoffCap is the longest rest between two deliveries.
const BackoffCap = time.Minute

// Relay is one consumer's feed. Run it in one goroutine.
type Relay struct {
	opt    Options
	log    *ledger.Log
	place  checkpoint
	poison Poison
	at     atomic.Uint64 // last position that is done with
	saved  events.Position
	savedT time.Time
}

// Open finds a consumer's place. One that is new begins at the head: what
// happened before it was named is not news.
func Open(ctx context.Context, log *ledger.Log, o Options) (*Relay, error) {
	r := &Relay{opt: o, log: log, place: checkpointIn(o.Dir, o.Name), poison: PoisonIn(o.Dir, o.Name)}
	at, known, err := r.place.load()
	if err == nil && !known {
		var h ledger.Head
		if h, err = log.Head(ctx); err == nil {
			at, err = h.Position, r.place.save(h.Position)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open feed %s: %w", o.Name, err)
	}
	r.at.Store(uint64(at))
	r.saved, r.savedT = at, time.Now()
	return r, nil
}

// Name is the consumer's.
func (r *Relay) Name() string { return r.opt.Name }

// Lag is how many committed events lie beyond the consumer's place.
func (r *Relay) Lag(ctx context.Context) (uint64, error) {
	h, err := r.log.Head(ctx)
	at := r.at.Load()
	return max(uint64(h.Position), at) - at, err
}

// Run publishes until ctx ends (nil), or until the place or the poison queue
// cannot be kept, or the ledger is broken.
func (r *Relay) Run(ctx context.Context) error {
	err := r.requeued(ctx)
	if err == nil {
		err = r.log.Follow(ctx, events.Position(r.at.Load()), func(run []events.Event) error { return r.run(ctx, run) })
	}
	err = errors.Join(err, r.save())
	if ctx.Err() != nil || errors.Is(err, ledger.ErrClosed) {
		return nil
	}
	return fmt.Errorf("feed %s: %w", r.opt.Name, err)
}

func (r *Relay) run(ctx context.Context, run []events.Event) error {
	published := false
	for i := range run {
		e := &run[i]
		if selected(r.opt.Select, e) {
			published = true
			if err := r.deliver(ctx, e); err != nil {
				return err
			}
		}
		r.at.Store(uint64(e.Position))
	}
	if !published && time.Since(r.savedT) < saveEvery {
		return nil
	}
	if err := r.save(); err != nil {
		return err
	}
	return r.requeued(ctx)
}

// save keeps the place; what was published after it is published again.
func (r *Relay) save() error {
	at := events.Position(r.at.Load())
	r.savedT = time.Now()
	if at == r.saved {
		return nil
	}
	if err := r.place.save(at); err != nil {
		return err
	}
	r.saved = at
	return nil
}

// deliver publishes one event until it is taken, put aside, or ctx ends.
func (r *Relay) deliver(ctx context.Context, e *events.Event) error {
	rest := r.opt.Backoff
	for n := 1; ; n++ {
		err := r.opt.Publisher.Publish(r.opt.Name, messageOf(ctx, e))
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case n == r.opt.Attempts:
			r.opt.Logger.Error("an event was put aside", "feed", r.opt.Name, "position", e.Position, "attempts", n, "error", err)
			return r.poison.add(e, err)
		}
		r.opt.Logger.Warn("a delivery failed", "feed", r.opt.Name, "position", e.Position, "attempt", n, "again_in", rest, "error", err)
		if !sleep(ctx, rest) {
			return ctx.Err()
		}
		rest = min(2*rest, BackoffCap)
	}
}

// requeued delivers again what was taken out of the poison queue.
func (r *Relay) requeued(ctx context.Context) error {
	return r.poison.drain(func(e *events.Event) error { return r.deliver(ctx, e) })
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
