// Package spool keeps a gateway's own events, durably and in their order,
// while the ledger takes none, until they are appended to it. What is in a
// spool belongs to one ledger and is never appended to another. It knows
// events as bytes with an envelope, no driver, and nothing of who decides when
// it is used.
package spool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

var (
	// ErrForeign says that the spool holds events of another ledger.
	ErrForeign = errors.New("the spool holds events of another ledger")
	// ErrNoSpool says that a store holds something, and that it is no spool.
	ErrNoSpool = errors.New("not a spool")
	// ErrFull says that the spool is at its bound.
	ErrFull = errors.New("the spool is full")
)

// Store is where a spool keeps its rows: a ledger.Store that can be emptied.
type Store interface {
	ledger.Store
	// Size is what the rows take, in bytes.
	Size() int64
	// Empty throws away every row if the newest is still the one at a
	// position, and says whether it did.
	Empty(at events.Position) (bool, error)
	// SetAside keeps every row elsewhere, where nobody appends it, and leaves
	// the store empty. It says where.
	SetAside() (where string, err error)
}

// reserveShare is the part of the bound that is kept for the outcomes of what
// runs already: one eighth.
const reserveShare = 8

// queue bounds the drafts that wait for the spool's disk. It holds everything
// that an engine may have under way when an outage begins.
const queue = 1 << 17

// Spool is an open spool. Safe for concurrent use.
type Spool struct {
	store *marked
	log   *ledger.Log
	max   int64
}

// Open takes a store into use; what a former process left in it stays until
// Replay. max is the bound in bytes.
func Open(ctx context.Context, s Store, maxBytes int64) (*Spool, error) {
	m := &marked{Store: s}
	if _, _, err := Left(ctx, m); err != nil && !errors.Is(err, ledger.ErrBroken) { // Replay tells of that
		return nil, fmt.Errorf("open spool: %w", err)
	}
	m.size.Store(s.Size())
	return &Spool{store: m, max: maxBytes, log: ledger.OpenWith(m, ledger.Options{Queue: queue, Retries: 2})}, nil
}

// Bind names the ledger that what is submitted from now on belongs to.
func (s *Spool) Bind(id uuid.UUID) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.ledger = id
}

// Submit queues drafts like ledger.Log.Submit. The ticket's places are the
// spool's own and mean nothing to anybody else.
func (s *Spool) Submit(u ledger.Urgency, drafts ...events.Draft) *ledger.Ticket {
	return s.log.Submit(u, drafts...)
}

// Restart lets a writer begin anew after a failure, see ledger.Log.Restart.
func (s *Spool) Restart(writer uuid.UUID) { s.log.Restart(writer) }

// Room is nil while new work may be begun: ErrFull when what is left is kept
// for the outcomes of what runs already.
func (s *Spool) Room() error {
	if size := s.Size(); size > s.max-s.max/reserveShare {
		return fmt.Errorf("%w: %d bytes of %d (spool_max)", ErrFull, size, s.max)
	}
	return nil
}

// Queued is how many drafts wait for the spool's disk.
func (s *Spool) Queued() int { return s.log.Queued() }

// Size is what the spool takes, in bytes.
func (s *Spool) Size() int64 { return s.store.size.Load() }

// Max is the bound in bytes.
func (s *Spool) Max() int64 { return s.max }

// Head is the position of the newest row, in the spool's own count.
func (s *Spool) Head(ctx context.Context) (events.Position, error) {
	h, err := s.store.Head(ctx)
	return h.Position, err
}

// Empty gives the disk back if nothing was added after a position of Head's.
func (s *Spool) Empty(at events.Position) (bool, error) { return s.store.Empty(at) }

// Close commits what is queued and closes the store.
func (s *Spool) Close() error { return s.log.Close() }

// marked is a store whose first row is the mark: the id of the ledger that the
// rows behind it belong to.
type marked struct {
	Store
	size atomic.Int64

	mu     sync.Mutex
	ledger uuid.UUID
}

// markKind is no event's: readers of ledgers show such a row as unknown.
const markKind events.Kind = 0xfff0

const markText = "waybill outage spool 1"

// mark is the first row. Its id is that of the ledger's first event, so that
// ledger.Identity names a spool as it names its ledger.
func mark(id uuid.UUID) events.Record {
	return events.Seal(&events.Draft{Header: events.Header{ID: id}, Data: &events.Unknown{Type: markKind, Version: 1, Codec: 1, Raw: []byte(markText)}})
}

// Commit implements ledger.Store.
func (m *marked) Commit(ctx context.Context, batch []events.Record) ([]ledger.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.Head(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { m.size.Store(m.Store.Size()) }()
	if h.Position > 0 {
		return m.Store.Commit(ctx, batch)
	}
	if m.ledger == uuid.Nil {
		return nil, errors.New("spool: it was not said which ledger this is for")
	}
	results, err := m.Store.Commit(ctx, append([]events.Record{mark(m.ledger)}, batch...))
	if err != nil {
		return nil, err
	}
	return results[1:], nil
}

// Empty implements Store.
func (m *marked) Empty(at events.Position) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.size.Store(m.Store.Size()) }()
	return m.Store.Empty(at)
}

// SetAside implements Store.
func (m *marked) SetAside() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.size.Store(m.Store.Size()) }()
	return m.Store.SetAside()
}

// Left is how many events wait in a store, and of which ledger. ErrNoSpool: it
// holds something else.
func Left(ctx context.Context, s ledger.Store) (n uint64, of uuid.UUID, err error) {
	h, err := s.Head(ctx)
	if err != nil || h.Position == 0 {
		return 0, uuid.Nil, err
	}
	err = s.Scan(ctx, 0, ledger.Filter{}, 1, func(r *ledger.Row) error {
		if r.Kind != markKind || string(r.Payload) != markText {
			return fmt.Errorf("%w: it holds events without a mark; is it a ledger? Name another file", ErrNoSpool)
		}
		of = r.ID
		return nil
	})
	return uint64(h.Position) - 1, of, err
}
