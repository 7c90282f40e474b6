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
	"github.com/waybill/waybill/projections/audit"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/story"
)

var (
	// ErrUnknownRequest: the ledger holds nothing about the request.
	ErrUnknownRequest = errors.New("the ledger knows no such request (what an unknown caller sends, and lists of models, leave no event; the log names them)")
	// ErrUnknownAccount: no such account was enrolled by then.
	ErrUnknownAccount = errors.New("no such account was enrolled")
	// ErrBeyondHead: the position asked for is not written yet.
	ErrBeyondHead = errors.New("position is beyond the ledger's head")
	// ErrNoTrouble: no request was refused or failed.
	ErrNoTrouble = errors.New("no request was refused or failed so far")
)

// Log is what an inquiry needs of a ledger; *ledger.Log is one.
type Log interface {
	views.Log
	Layout(ctx context.Context, size events.Position) (ledger.Layout, error)
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

// Story is the whole story of a request.
func Story(ctx context.Context, log Log, id uuid.UUID) (story.Request, error) {
	own, err := log.Read(ctx, 0, ledger.Filter{Request: id}, 10_000)
	if err != nil {
		return story.Request{}, fmt.Errorf("read request %s: %w", id, err)
	}
	if len(own) == 0 {
		return story.Request{}, fmt.Errorf("request %s: %w", id, ErrUnknownRequest)
	}
	b := story.NewBuilder(id)
	a := audit.New(audit.Options{Only: b.Wants, Visit: b.Visit, Read: rereader(ctx, log)})
	err = views.Each(ctx, log, 0, own[len(own)-1].Position, func(e *events.Event) error {
		b.Add(e)
		return a.Apply(e)
	})
	if err != nil {
		return story.Request{}, fmt.Errorf("fold for request %s: %w", id, err)
	}
	s, ok := b.Finish(Lookup(ctx, log))
	if !ok {
		return s, fmt.Errorf("request %s: %w", id, ErrUnknownRequest)
	}
	return s, ctx.Err()
}

// Trouble is the last request that was refused or failed.
func Trouble(ctx context.Context, log Log) (uuid.UUID, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return uuid.Nil, fmt.Errorf("find the head: %w", err)
	}
	v := requests.New(requests.Keep)
	if _, err := views.To(ctx, log, head.Position, nil, nil, v); err != nil {
		return uuid.Nil, fmt.Errorf("look for trouble: %w", err)
	}
	id, ok := v.Trouble()
	if !ok {
		return id, ErrNoTrouble
	}
	return id, nil
}

// Requests lists rows out of the whole ledger.
func Requests(ctx context.Context, log Log, q requests.Query) ([]story.Row, bool, error) {
	v := requests.NewFiltered(keep(q.Limit), q)
	if err := views.Each(ctx, log, 0, 0, func(e *events.Event) error { v.Apply(e); return nil }); err != nil {
		return nil, false, fmt.Errorf("list requests: %w", err)
	}
	rows, more := v.List(q)
	return story.Rows(rows, v.Account), more, nil
}

// keep is how many ended requests a listing must hold to give limit of them:
// they end in another order than they start.
func keep(limit int) int {
	if limit <= 0 {
		return 1 << 30
	}
	return limit + 4096
}
