// Package ledger is the contract of the append-only ledger and everything that
// is a function over it: group commit, follow, chain, verify. Drivers (sqlite,
// postgres) implement Store; everyone else uses Log. It knows events as bytes
// with an envelope and knows nothing of projections.
package ledger

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/waybill/waybill/events"
)

var (
	// ErrConflict: an id is known with other content. It concerns that draft
	// alone; the rest of its batch is committed.
	ErrConflict = errors.New("event id is already used with other content")
	// ErrUnavailable: the store cannot take or give events now.
	ErrUnavailable = errors.New("ledger unavailable")
	// ErrBackpressure: the append queue is at its bound.
	ErrBackpressure = errors.New("ledger append queue is full")
	// ErrLocked: another process has this ledger open for writing.
	ErrLocked = errors.New("ledger is open in another process")
	// ErrNotFound: there is no ledger where it was looked for.
	ErrNotFound = errors.New("no ledger there")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("ledger is closed")
)

// Head is the last committed event's place; all zero for an empty ledger.
type Head struct {
	Position   events.Position
	Hash       events.Hash
	RecordedAt events.Time
}

// Filter narrows a read. Zero members do not narrow.
type Filter struct {
	Account string
	Request uuid.UUID
	Kinds   []events.Kind
	Since   events.Time // recorded_at >= Since
	Until   events.Time // recorded_at < Until
}

// Result is what a commit made of one record: its place, or why not. A known
// id with the same content answers with the recorded place.
type Result struct {
	Position   events.Position
	RecordedAt events.Time
	Hash       events.Hash
	Known      bool  // it was there before
	Err        error // ErrConflict
}

// Row is a stored record with its place.
type Row struct {
	events.Record
	Position   events.Position
	RecordedAt events.Time
	Hash       events.Hash
}

// Store is what a driver implements. Positions are gapless and in commit
// order, recorded_at is the store's clock, monotone in position, and the chain
// is events.Chain.
type Store interface {
	// Commit appends a batch atomically and durably. An error means that
	// nothing of it is known to be committed: the caller may try again with
	// the same ids.
	Commit(ctx context.Context, batch []events.Record) ([]Result, error)
	// Scan calls fn for the rows after a position, in order, until limit rows
	// (0: no limit), the head, or fn's error. The row is reused between calls.
	Scan(ctx context.Context, after events.Position, f Filter, limit int, fn func(*Row) error) error
	Head(ctx context.Context) (Head, error)
	Close() error
}

// Urgency says how soon a submitted draft must start a commit.
type Urgency uint8

const (
	// Awaited: somebody waits for it; a commit starts at once.
	Awaited Urgency = iota
	// Behind: it rides with the next commit, or starts one after 5 ms.
	Behind
)

// Log is an open ledger: group commit over a Store, ordered reads, wake-ups.
// Safe for concurrent use.
type Log struct {
	store Store
}

// Open puts group commit over a store. The log owns the store from then on.
func Open(store Store) *Log { return &Log{store: store} }

// Append commits drafts and returns them as events once they are durable, in
// order. Known ids answer with the recorded event; a draft whose id is taken
// by other content makes the error ErrConflict, its place zero, the others
// committed. The caller's context ends its wait, never the commit.
func (l *Log) Append(ctx context.Context, drafts ...events.Draft) ([]events.Event, error) {
	return l.Submit(Awaited, drafts...).Wait(ctx)
}

// Submit queues drafts and returns at once; drafts submitted one after another
// commit in that order. A full queue fails the ticket with ErrBackpressure.
func (l *Log) Submit(u Urgency, drafts ...events.Draft) *Ticket { return &Ticket{} }

// Ticket is the outcome of a Submit.
type Ticket struct{}

// Done is closed when the outcome is known.
func (t *Ticket) Done() <-chan struct{} { return nil }

// Wait returns the events, or why they are not durable.
func (t *Ticket) Wait(ctx context.Context) ([]events.Event, error) { return nil, ErrUnavailable }

// Follow calls fn with every event after a position, in order and without a
// gap, as it is committed; commits of this process are handed over without
// reading them again. It returns when ctx ends or fn fails.
func (l *Log) Follow(ctx context.Context, after events.Position, fn func([]events.Event) error) error {
	return nil
}

// Read returns up to limit (at most 10,000) decoded events after a position.
func (l *Log) Read(ctx context.Context, after events.Position, f Filter, limit int) ([]events.Event, error) {
	return nil, nil
}

// Each calls fn for every event after a position up to the head at the call;
// the event is reused between calls.
func (l *Log) Each(ctx context.Context, after events.Position, f Filter, fn func(*events.Event) error) error {
	return nil
}

// Head is the last committed event's place.
func (l *Log) Head(ctx context.Context) (Head, error) { return l.store.Head(ctx) }

// Wait returns when the head is beyond a position.
func (l *Log) Wait(ctx context.Context, after events.Position) error { return nil }

// Close commits what is queued, then closes the store.
func (l *Log) Close() error { return l.store.Close() }
