package inquiry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// ErrUnknownFeed: no feed of that name was ever delivered, or no such message
// was put aside.
var ErrUnknownFeed = errors.New("no such feed or message")

// Feed is how far a consumer of committed events is, and what it did not take.
type Feed struct {
	Name     string          `json:"name"`
	Position events.Position `json:"position"` // the last that it is done with
	Lag      uint64          `json:"lag"`      // committed events beyond
	Poisoned int             `json:"poisoned"` // messages put aside
	Requeued int             `json:"requeued"` // of these, those that will be delivered again
	Error    string          `json:"error"`    // what of its books cannot be read; "": all can
}

// Header says where a ledger ends.
type Header interface {
	Head(ctx context.Context) (ledger.Head, error)
}

// Feeds lists the consumers that have a place.
func Feeds(ctx context.Context, log Header, books ledger.Books) ([]Feed, error) {
	names, err := books.Consumers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list feeds: %w", err)
	}
	head, err := log.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("list feeds: %w", err)
	}
	out := make([]Feed, len(names))
	for i, name := range names {
		if out[i], err = feedOf(ctx, name, books.Book(name), head.Position); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func feedOf(ctx context.Context, name string, b ledger.Book, head events.Position) (f Feed, err error) {
	f.Name = name
	at, _, bad := b.Place(ctx)
	aside, err := b.Aside(ctx)
	if err = errors.Join(bad, err); errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrClosed) || ctx.Err() != nil {
		return f, fmt.Errorf("read feed %s: %w", name, err)
	}
	if err != nil {
		f.Error = err.Error()
	}
	f.Position = at
	for i := range aside {
		if aside[i].Requeued {
			f.Requeued++
		}
	}
	f.Lag, f.Poisoned = uint64(max(head, f.Position)-f.Position), len(aside)
	return f, nil
}

// Poisoned lists what a feed's consumer did not take.
func Poisoned(ctx context.Context, books ledger.Books, name string) ([]ledger.Message, error) {
	b, err := bookOf(ctx, books, name)
	if err != nil {
		return nil, err
	}
	aside, err := b.Aside(ctx)
	if errors.Is(err, ledger.ErrUnreadable) {
		err = nil // Feeds says what cannot be read
	}
	return aside, err
}

// Requeue has messages delivered again, all that were put aside without ids. It
// returns how many; the feed takes them up within a second while a gateway runs.
func Requeue(ctx context.Context, books ledger.Books, name string, ids ...uuid.UUID) (int, error) {
	b, err := bookOf(ctx, books, name)
	if err != nil {
		return 0, err
	}
	n, err := b.Requeue(ctx, ids...)
	if err == nil && n < len(ids) {
		return n, fmt.Errorf("%w: %d of %d messages were put aside by feed %s", ErrUnknownFeed, n, len(ids), name)
	}
	return n, err
}

func bookOf(ctx context.Context, books ledger.Books, name string) (ledger.Book, error) {
	names, err := books.Consumers(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("%w: %q; there are %d feeds: %q", ErrUnknownFeed, name, len(names), names)
	}
	return books.Book(name), nil
}
