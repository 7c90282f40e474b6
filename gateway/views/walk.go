package views

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Scanner gives rows as stored; a ledger.Store and *ledger.Log are ones.
type Scanner interface {
	Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error
	Head(ctx context.Context) (ledger.Head, error)
}

const (
	batchRows  = 512
	batchAhead = 8 // batches that are read before they are needed
)

// batch is some rows, decoded and hashed by a worker of its own.
type batch struct {
	rows   []ledger.Row
	bytes  []byte      // all payloads
	before events.Hash // of the row before the first, as stored; zero where it was not read
	links  []ledger.Link
	events []events.Event
	errs   []error
	done   chan struct{}
}

// add copies a row: a scan uses it again.
func (b *batch) add(r *ledger.Row) {
	n := len(b.bytes)
	b.bytes = append(b.bytes, r.Payload...)
	b.rows = append(b.rows, *r)
	b.rows[len(b.rows)-1].Payload = b.bytes[n:len(b.bytes):len(b.bytes)]
}

// link hashes.
func (b *batch) link() {
	before := b.before
	for i := range b.rows {
		b.links[i] = b.rows[i].Link(before)
		before = b.rows[i].Hash
	}
}

// decode reads the payloads.
func (b *batch) decode(codec *events.Codec) {
	for i := range b.rows {
		b.events[i], b.errs[i] = b.rows[i].EventBy(codec)
	}
}

// A walkFunc gets a row, its link where links are wanted, and its event or why
// it has none. It must keep neither row nor event; the payload of an event is
// its own.
type walkFunc func(r *ledger.Row, l ledger.Link, e *events.Event, err error) error

// Walk reads rows after a position up to another and hands them over in order,
// decoded and hashed by as many workers as there are processors.
func Walk(ctx context.Context, s Scanner, after, upto events.Position, fn func(r *ledger.Row, l ledger.Link, e *events.Event, err error) error) error {
	return walk(ctx, s, after, upto, true, fn)
}

// walk is Walk; without links nothing is hashed.
func walk(ctx context.Context, s Scanner, after, upto events.Position, links bool, fn walkFunc) error {
	if upto <= after {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	ordered, work := make(chan *batch, batchAhead), make(chan *batch, batchAhead)
	free := make(chan *batch, batchAhead+2) // that have been handed over
	g.Go(func() error {
		defer close(ordered)
		defer close(work)
		return readBatches(ctx, s, after, upto, free, ordered, work)
	})
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			var codec events.Codec
			for b := range work {
				if links {
					b.link()
				}
				b.decode(&codec)
				close(b.done)
			}
			return nil
		})
	}
	g.Go(func() error { return hand(ctx, ordered, free, fn) })
	return g.Wait()
}

// readBatches cuts the scan into batches.
func readBatches(ctx context.Context, s Scanner, after, upto events.Position, free <-chan *batch, ordered, work chan<- *batch) error {
	b := nextBatch(free)
	flush := func() error {
		if len(b.rows) == 0 {
			return nil
		}
		for _, c := range []chan<- *batch{ordered, work} {
			select {
			case c <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		last := b.rows[len(b.rows)-1].Hash
		b = nextBatch(free)
		b.before = last
		return nil
	}
	err := s.Scan(ctx, after, ledger.Filter{UpTo: upto}, 0, func(r *ledger.Row) error {
		b.add(r)
		if len(b.rows) < batchRows {
			return nil
		}
		return flush()
	})
	return errors.Join(err, flush())
}

// nextBatch is an empty batch, one that was used before if there is any.
func nextBatch(free <-chan *batch) *batch {
	select {
	case b := <-free:
		b.rows, b.bytes, b.done = b.rows[:0], b.bytes[:0], make(chan struct{})
		return b
	default:
		return &batch{rows: make([]ledger.Row, 0, batchRows), bytes: make([]byte, 0, batchRows*192), done: make(chan struct{}),
			links: make([]ledger.Link, batchRows), events: make([]events.Event, batchRows), errs: make([]error, batchRows)}
	}
}

// hand gives the batches over in order.
func hand(ctx context.Context, ordered <-chan *batch, free chan<- *batch, fn walkFunc) error {
	for b := range ordered {
		select {
		case <-b.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		for i := range b.rows {
			if err := fn(&b.rows[i], b.links[i], &b.events[i], b.errs[i]); err != nil {
				return err
			}
		}
		select {
		case free <- b:
		default:
		}
	}
	return nil
}

// Each reads events in order after a position up to another (0: the head), every
// one of them: a hole is ledger.ErrBroken.
func Each(ctx context.Context, log Scanner, after, upto events.Position, fn func(*events.Event) error) error {
	if upto == 0 {
		head, err := log.Head(ctx)
		if err != nil {
			return err
		}
		upto = head.Position
	}
	next := after + 1
	err := walk(ctx, log, after, upto, false, func(r *ledger.Row, _ ledger.Link, e *events.Event, err error) error {
		if err != nil {
			return fmt.Errorf("event %d cannot be read: %w", r.Position, err)
		}
		if r.Position != next {
			return missing(next)
		}
		next++
		return fn(e)
	})
	if err == nil && next <= upto {
		return missing(next)
	}
	return err
}

func missing(at events.Position) error {
	return fmt.Errorf("event %d is missing: %w; waybill verify tells more", at, ledger.ErrBroken)
}
