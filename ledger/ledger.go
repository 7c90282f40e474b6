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
	// ErrConflict says that an id is known with other content. It concerns that draft
	// alone; the rest of its batch is committed.
	ErrConflict = errors.New("event id is already used with other content")
	// ErrUnavailable says that the store cannot take or give events now.
	ErrUnavailable = errors.New("ledger unavailable")
	// ErrBackpressure says that the append queue is at its bound.
	ErrBackpressure = errors.New("ledger append queue is full")
	// ErrLocked says that another process has this ledger open for writing.
	ErrLocked = errors.New("ledger is open in another process")
	// ErrNotFound says that there is no ledger where it was looked for.
	ErrNotFound = errors.New("no ledger there")
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("ledger is closed")
	// ErrBroken says that what is stored cannot be what was appended: a hole, a head
	// that went back, a row that cannot be read.
	ErrBroken = errors.New("ledger is broken")
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
	UpTo    events.Position
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
	// the same ids. The batch is the caller's again afterwards, the results
	// stay.
	Commit(ctx context.Context, batch []events.Record) ([]Result, error)
	// Scan calls fn for the rows after a position, in order, until limit rows
	// (0: no limit), the head, or fn's error. The row and its payload are
	// reused between calls. No lock or snapshot is held while fn runs. Where
	// rows behind the position have left the store it is ErrArchived: a scan
	// never skips what was there.
	Scan(ctx context.Context, after events.Position, f Filter, limit int, fn func(*Row) error) error
	Head(ctx context.Context) (Head, error)
	Close() error
}

// Shared is implemented by stores that other processes append to. Watch calls
// poke whenever the store may have grown, until ctx ends; a poke is only a
// hint, followers look for themselves as well.
type Shared interface {
	Watch(ctx context.Context, poke func()) error
}

// Writers is implemented by stores that other processes append to: it tells
// which of them are alive, so that what a dead one left open can be closed.
type Writers interface {
	// Hold says that this process is the writer, until the store is closed.
	Hold(ctx context.Context, writer uuid.UUID) error
	// TakeOver runs fn if nobody holds the writer; nobody else takes it over
	// meanwhile. dead says whether it did.
	TakeOver(ctx context.Context, writer uuid.UUID, fn func(ctx context.Context) error) (dead bool, err error)
}
