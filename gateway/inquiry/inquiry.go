// Package inquiry answers questions about the past by reading a ledger: the
// story of a request, the accounts as of an instant, whether the ledger and
// every decision in it hold, what a fold from zero gives. The shell and the API
// both ask here. It only reads, and it knows no driver.
package inquiry

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/story"
)

var (
	// ErrUnknownRequest: the ledger holds nothing about the request.
	ErrUnknownRequest = errors.New("the ledger knows no such request (what an unknown caller sends, and lists of models, leave no event; the log names them)")
	// ErrUnknownAccount: no such account was enrolled by then.
	ErrUnknownAccount = errors.New("no such account was enrolled")
	// ErrNotYet: the ledger knows it, but did not at the moment asked about.
	ErrNotYet = errors.New("not yet at that instant")
	// ErrBeyondHead: the position asked for is not written yet.
	ErrBeyondHead = errors.New("position is beyond the ledger's head")
	// ErrNoTrouble: no request was refused or failed.
	ErrNoTrouble = errors.New("no request was refused or failed so far")
)

// Log is what an inquiry needs of a ledger; *ledger.Log is one.
type Log interface {
	views.Log
	Layout(ctx context.Context, size events.Position) (ledger.Layout, error)
	Shelf() ledger.Shelf
	Stray(ctx context.Context) (*ledger.Fault, error)
	EntryCheck() *ledger.EntryCheck
	Each(ctx context.Context, after events.Position, f ledger.Filter, fn func(*events.Event) error) error
	Read(ctx context.Context, after events.Position, f ledger.Filter, limit int) ([]events.Event, error)
}

// rereader lets an audit read the ledger again.
func rereader(ctx context.Context, log Log) func(after, upto events.Position, fn func(*events.Event) error) error {
	return func(after, upto events.Position, fn func(*events.Event) error) error {
		return views.Each(ctx, log, after, upto, fn)
	}
}

// Lookup finds single events, and remembers those that it found.
func Lookup(ctx context.Context, log Log) story.Lookup {
	known := map[events.Position]*events.Event{}
	return func(at events.Position) *events.Event {
		if at == 0 {
			return nil
		}
		if e, ok := known[at]; ok {
			return e
		}
		var found *events.Event
		if got, err := log.Read(ctx, at-1, ledger.Filter{}, 1); err == nil && len(got) == 1 && got[0].Position == at {
			found = &got[0]
		}
		known[at] = found
		return found
	}
}

// Trouble is the last request that was refused or failed by a moment.
func Trouble(ctx context.Context, log Log, m Moment) (uuid.UUID, error) {
	at, err := Place(ctx, log, m)
	if err != nil {
		return uuid.Nil, err
	}
	v := requests.New(requests.Keep)
	if _, err := views.To(ctx, log, at, nil, nil, v); err != nil {
		return uuid.Nil, fmt.Errorf("look for trouble: %w", err)
	}
	id, ok := v.Trouble()
	if !ok {
		return id, ErrNoTrouble
	}
	return id, nil
}
