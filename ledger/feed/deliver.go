package feed

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/waybill/waybill/ledger"
)

// deliver publishes messages in order. When some of a batch fail they are all
// published one by one: consumers tell repetitions by their ids.
func (r *Relay) deliver(ctx context.Context, batch []*message.Message) error {
	if len(batch) > 1 && r.opt.Publisher.Publish(r.opt.Topic, batch...) == nil {
		return nil
	}
	for _, m := range batch {
		if _, err := r.send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// send publishes one message until it is taken, put aside, or ctx ends.
func (r *Relay) send(ctx context.Context, m *message.Message) (taken bool, err error) {
	log := r.opt.Logger.With("feed", r.opt.Name, "message", m.UUID, "position", m.Metadata.Get(MetaPosition))
	rest := r.opt.Backoff
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		err := r.opt.Publisher.Publish(r.opt.Topic, m)
		switch {
		case err == nil:
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case n == r.opt.Attempts || errors.Is(err, ErrRefused):
			log.Error("a message was put aside", "attempts", n, "error", err)
			return false, r.putAside(ctx, refusedOf(m, err), log)
		}
		log.Warn("a delivery failed", "attempt", n, "again_in", rest, "error", err)
		if !ledger.Rest(ctx, rest) {
			return false, ctx.Err()
		}
		rest = min(2*rest, backoffCap)
	}
}

// putAside keeps a message that was not taken; it must not be lost, so what
// follows waits until there is a place for it.
func (r *Relay) putAside(ctx context.Context, m ledger.Message, log *slog.Logger) error {
	for rest := r.opt.Backoff; ; rest = min(2*rest, backoffCap) {
		err := r.opt.Book.PutAside(ctx, m)
		if err == nil || errors.Is(err, ledger.ErrClosed) {
			return err
		}
		log.Error("a message could not be put aside", "again_in", rest, "error", err)
		if !ledger.Rest(ctx, rest) {
			return ctx.Err()
		}
	}
}

// Tell sends what no event tells of: this process's own news. It does not wait,
// and needs neither lease nor place; when the process ends before it is
// delivered it is lost.
func (r *Relay) Tell(l Letter) {
	r.telling.Add(1)
	select {
	case r.told <- l:
	default:
		r.telling.Add(-1)
		r.opt.Logger.Error("too much to tell; one message is lost", "feed", r.opt.Name, "type", l.Type)
	}
}

// Told waits until everything that was to be told is delivered or put aside, or
// until ctx ends.
func (r *Relay) Told(ctx context.Context) {
	for r.telling.Load() > 0 && ledger.Rest(ctx, toldEvery) {
	}
}

func (r *Relay) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-r.told:
			if _, err := r.send(ctx, messageOf(ctx, &l)); err != nil && ctx.Err() == nil {
				r.opt.Logger.Error("a message is lost", "feed", r.opt.Name, "type", l.Type, "error", err)
			}
			r.telling.Add(-1)
		}
	}
}
