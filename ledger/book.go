package ledger

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// ErrUnreadable: something that a book keeps cannot be read; the rest can.
var ErrUnreadable = errors.New("unreadable")

// Book is what a consumer of committed events keeps beside the ledger: its
// place, and the messages that it would not take. None of it is a fact about
// the gateway, so none of it is an event.
type Book interface {
	// Place is the last position that is done with; known is false before Begin.
	Place(ctx context.Context) (at events.Position, known bool, err error)
	// Begin sets the first place. It does nothing where there is one.
	Begin(ctx context.Context, at events.Position) error
	// Keep moves the place on, durably. It never moves back: whoever held the
	// consumer before may be late.
	Keep(ctx context.Context, at events.Position) error
	// PutAside keeps a message until it is delivered after all.
	PutAside(ctx context.Context, m Message) error
	// Aside lists those messages by position. Beside those that can be read it
	// gives ErrUnreadable for those that cannot.
	Aside(ctx context.Context) ([]Message, error)
	// Requeue marks messages for delivery, all of them without ids, and says
	// how many it found.
	Requeue(ctx context.Context, ids ...uuid.UUID) (int, error)
	// Drop forgets a message: it was delivered.
	Drop(ctx context.Context, id uuid.UUID) error
}

// Books is where consumers keep their books: a store that replicas share, so
// that one goes on where another was.
type Books interface {
	// Book is a consumer's, made when something is first kept in it.
	Book(name string) Book
	// Consumers are the names that have a place, sorted.
	Consumers(ctx context.Context) ([]string, error)
}

// Message is what a consumer did not take.
type Message struct {
	ID       uuid.UUID         `json:"id"`
	Position events.Position   `json:"position"` // of the event that it tells of; 0: of none
	Error    string            `json:"error"`    // of the last delivery
	Requeued bool              `json:"requeued"` // will be delivered again
	Meta     map[string]string `json:"meta"`     // of the message, such as its type
	Body     json.RawMessage   `json:"body"`
}

// Books is what the store keeps for consumers, nil when it keeps nothing.
func (l *Log) Books() Books {
	b, _ := Part[Books](l.store)
	return b
}
