// Package feed hands committed events to the world outside, through any
// Watermill publisher: at least once, in the order of their positions, with a
// durable place per consumer, and over all replicas by one of them at a time.
// The ledger is the outbox. Nothing that decides or folds passes through here;
// it must not know who the consumers are.
package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

const (
	// saveEvery is how often a place is kept, and requeued messages are looked
	// for. A crash repeats what was delivered since.
	saveEvery = time.Second
	// saveTime bounds the last keeping of a place.
	saveTime = 2 * time.Second
	// toldEvery is how often Told looks.
	toldEvery = 10 * time.Millisecond
	// maxTold bounds what waits to be told that no event tells of.
	maxTold = 64
)

// Options is one consumer.
type Options struct {
	Name      string // of its book and its lease
	Topic     string // what is published to, where the publisher has topics
	Book      ledger.Book
	Publisher message.Publisher
	Writer    Writer
	Batch     int           // messages that are published at once [1]
	Attempts  int           // deliveries until a message is put aside; 0: tried until it is taken
	Backoff   time.Duration // first rest after a failure, doubled up to a minute
	Logger    *slog.Logger
}

// backoffCap is the longest rest between two deliveries.
const backoffCap = time.Minute

// ErrRefused is a publisher's: this message will never be taken, however often
// it is tried.
var ErrRefused = errors.New("refused for good")

// Relay is one consumer's feed.
type Relay struct {
	opt   Options
	log   *ledger.Log
	at    atomic.Uint64 // last position that is done with
	holds atomic.Bool   // this process delivers
	saved events.Position
	told  chan Letter
	ails  string // what its books last failed with, "" when they work

	telling atomic.Int64 // letters of told that are not done with
}

// Open gives a new consumer its place: the head, since what happened before it
// was named is not news.
func Open(ctx context.Context, log *ledger.Log, o Options) (*Relay, error) {
	o.Batch = max(o.Batch, 1)
	r := &Relay{opt: o, log: log, told: make(chan Letter, maxTold)}
	if _, err := r.place(ctx); err != nil && !errors.Is(err, ledger.ErrUnavailable) {
		return nil, fmt.Errorf("open feed %s: %w", o.Name, err)
	}
	return r, nil
}

// place is where the consumer is, or begins.
func (r *Relay) place(ctx context.Context) (events.Position, error) {
	at, known, err := r.opt.Book.Place(ctx)
	if err != nil || known {
		return at, err
	}
	h, err := r.log.Head(ctx)
	if err != nil {
		return 0, err
	}
	if err := r.opt.Book.Begin(ctx, h.Position); err != nil {
		return 0, err
	}
	at, _, err = r.opt.Book.Place(ctx)
	return at, err
}

// Name is the consumer's.
func (r *Relay) Name() string { return r.opt.Name }

// Book is the consumer's.
func (r *Relay) Book() ledger.Book { return r.opt.Book }

// Lag is how many committed events lie beyond the consumer's place.
func (r *Relay) Lag(ctx context.Context) (uint64, error) {
	at := events.Position(r.at.Load())
	if !r.holds.Load() {
		var err error
		if at, _, err = r.opt.Book.Place(ctx); err != nil {
			return 0, err
		}
	}
	h, err := r.log.Head(ctx)
	return uint64(max(h.Position, at) - at), err
}

// ErrAhead: a place lies beyond the ledger's end, so that this ledger is not the
// one that was delivered from.
var ErrAhead = errors.New("the place lies beyond the ledger's end")

// Run publishes until ctx ends, and closes the publisher then. Of several
// replicas one delivers. What fails is tried again, but for a broken ledger and
// a place beyond it: then the log says that the feed stopped, and what no event
// tells of is still sent.
func (r *Relay) Run(ctx context.Context) {
	defer func() {
		if err := r.opt.Publisher.Close(); err != nil {
			r.opt.Logger.Warn("a publisher did not close", "feed", r.opt.Name, "error", err)
		}
	}()
	telling := make(chan struct{})
	go func() {
		defer close(telling)
		r.tell(ctx)
	}()
	r.log.Lease(ctx, "feed/"+r.opt.Name, func(ctx context.Context) {
		if err := r.hold(ctx); err != nil {
			r.opt.Logger.Error("a feed stopped", "feed", r.opt.Name, "error", err)
		}
	})
	<-telling
}

// hold delivers while this process is the one that does.
func (r *Relay) hold(ctx context.Context) error {
	rest := saveEvery
	for {
		before := r.at.Load()
		err := r.serve(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, ledger.ErrClosed):
			return nil
		case errors.Is(err, ledger.ErrBroken), errors.Is(err, ErrAhead):
			return err
		case errors.Is(err, ledger.ErrUnavailable) || r.at.Load() != before:
			rest = saveEvery
		}
		r.opt.Logger.Warn("a feed waits", "feed", r.opt.Name, "again_in", rest, "error", err)
		if !ledger.Rest(ctx, rest) {
			return nil
		}
		rest = min(2*rest, backoffCap)
	}
}

// known takes an error of the books that delivering can go on beside: it is in
// the log once, and so is that they work again. Other errors come back.
func (r *Relay) known(ctx context.Context, err error) error {
	now := ""
	switch {
	case ctx.Err() != nil, errors.Is(err, ledger.ErrUnavailable), errors.Is(err, ledger.ErrClosed):
		return err
	case err != nil:
		now = err.Error()
	}
	switch now {
	case r.ails:
	case "":
		r.opt.Logger.Info("a feed's books work again", "feed", r.opt.Name)
	default:
		r.opt.Logger.Warn("a feed's books cannot be kept or read; it goes on, and repeats after a crash what it cannot note", "feed", r.opt.Name, "error", err)
	}
	r.ails = now
	return nil
}

// serve goes on from the place until something fails.
func (r *Relay) serve(ctx context.Context) (err error) {
	at, err := r.place(ctx)
	if err != nil {
		return err
	}
	head, err := r.log.Head(ctx)
	if err != nil {
		return err
	}
	if at > head.Position {
		return fmt.Errorf("%w: %d is delivered, the ledger ends at %d: is it restored from an older copy? Remove the feed's place (docs/feeds.md) and start again: it begins at the end", ErrAhead, at, head.Position)
	}
	if err := r.opt.Writer.Start(ctx, at); err != nil {
		return err
	}
	r.at.Store(uint64(at))
	r.saved = at
	r.holds.Store(true)
	defer r.holds.Store(false)
	defer func() { err = errors.Join(err, r.last(ctx)) }()
	return r.follow(ctx, at)
}

// follow delivers what is committed, and what was requeued.
func (r *Relay) follow(ctx context.Context, at events.Position) error {
	ctx, end := context.WithCancel(ctx)
	runs, followed, done := make(chan []events.Event), make(chan error, 1), make(chan struct{})
	defer func() {
		end()
		<-done
	}()
	go func() {
		defer close(done)
		followed <- r.log.Follow(ctx, at, func(run []events.Event) error {
			select {
			case runs <- slices.Clone(run):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	err := r.known(ctx, r.requeued(ctx))
	for err == nil {
		select {
		case run := <-runs:
			err = r.run(ctx, run)
		case <-tick.C:
			err = r.known(ctx, errors.Join(r.save(ctx), r.requeued(ctx)))
		case err = <-followed:
			return err
		}
	}
	return err
}

// run delivers one run of events, as many messages at once as are allowed.
func (r *Relay) run(ctx context.Context, run []events.Event) error {
	var batch []*message.Message
	for i := range run {
		letters := r.opt.Writer.Write(ctx, &run[i])
		for j := range letters {
			batch = append(batch, messageOf(ctx, &letters[j]))
		}
		if len(batch) >= r.opt.Batch || i == len(run)-1 {
			if err := r.deliver(ctx, batch); err != nil {
				return err
			}
			batch = nil // a publisher that was not waited for may still read it
		}
		if len(batch) == 0 {
			r.at.Store(uint64(run[i].Position))
		}
	}
	return nil
}

// save keeps the place; what was published after it is published again.
func (r *Relay) save(ctx context.Context) error {
	at := events.Position(r.at.Load())
	if at == r.saved {
		return nil
	}
	if err := r.opt.Book.Keep(ctx, at); err != nil {
		return err
	}
	r.saved = at
	return nil
}

// last keeps the place although ctx has ended.
func (r *Relay) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	return r.save(ctx)
}

// requeued delivers again what was taken out of the messages put aside.
func (r *Relay) requeued(ctx context.Context) error {
	aside, bad := r.opt.Book.Aside(ctx)
	for i := range aside {
		if !aside[i].Requeued {
			continue
		}
		taken, err := r.send(ctx, again(ctx, &aside[i]))
		if err == nil && taken {
			err = r.opt.Book.Drop(ctx, aside[i].ID)
		}
		if err != nil {
			return errors.Join(bad, err)
		}
	}
	return bad
}
