package ledger

import (
	"context"
	"fmt"

	"github.com/waybill/waybill/events"
)

// maxRead bounds one Read.
const maxRead = 10_000

// Read returns up to limit (at most 10,000) decoded events after a position.
func (l *Log) Read(ctx context.Context, after events.Position, f Filter, limit int) ([]events.Event, error) {
	if limit <= 0 || limit > maxRead {
		limit = maxRead
	}
	var out []events.Event
	var codec events.Codec
	err := l.store.Scan(ctx, after, f, limit, func(r *Row) error {
		e, err := r.EventBy(&codec)
		out = append(out, e)
		return err
	})
	return out, err
}

// Each calls fn for every event after a position up to the head at the call;
// the event is reused between calls.
func (l *Log) Each(ctx context.Context, after events.Position, f Filter, fn func(*events.Event) error) error {
	return Each(ctx, l.store, after, f, fn)
}

// Each is Log.Each over a store that is not opened as a Log.
func Each(ctx context.Context, s Store, after events.Position, f Filter, fn func(*events.Event) error) error {
	h, err := s.Head(ctx)
	if err != nil {
		return err
	}
	if f.UpTo == 0 || f.UpTo > h.Position {
		f.UpTo = h.Position
	}
	if f.UpTo == 0 {
		return nil
	}
	var e events.Event
	var codec events.Codec
	return s.Scan(ctx, after, f, 0, func(r *Row) (err error) {
		if e, err = r.EventBy(&codec); err != nil {
			return err
		}
		return fn(&e)
	})
}

// Event decodes the row. Its payload shares nothing with the row.
func (r *Row) Event() (events.Event, error) { return r.EventBy(new(events.Codec)) }

// EventBy is Event with the codec's memory.
func (r *Row) EventBy(codec *events.Codec) (events.Event, error) {
	data, err := codec.Open(&r.Record)
	if err != nil {
		return events.Event{}, fmt.Errorf("read event %d: %w: %w", r.Position, ErrBroken, err)
	}
	return events.Event{Header: r.Header, Position: r.Position, RecordedAt: r.RecordedAt, Hash: r.Hash, Data: data}, nil
}

// Scan gives rows as stored, see Store.Scan.
func (l *Log) Scan(ctx context.Context, after events.Position, f Filter, limit int, fn func(*Row) error) error {
	return l.store.Scan(ctx, after, f, limit, fn)
}
