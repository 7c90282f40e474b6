package ledger

import (
	"context"
	"sync"

	"github.com/waybill/waybill/events"
)

// Ticket is the outcome of a Submit.
type Ticket struct {
	drafts []events.Draft
	taken  int // drafts that the committer has put into batches
	placed int // drafts whose outcome is known

	mu       sync.Mutex
	ch       chan struct{} // made when somebody asks for it
	resolved bool
	events   []events.Event
	err      error
}

// Done is closed when the outcome is known.
func (t *Ticket) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ch == nil {
		t.ch = make(chan struct{})
		if t.resolved {
			close(t.ch)
		}
	}
	return t.ch
}

// Wait returns the events, or why they are not durable. With ErrConflict the
// events are returned too; those with a Position of zero were refused.
func (t *Ticket) Wait(ctx context.Context) ([]events.Event, error) {
	select {
	case <-t.Done():
		return t.events, t.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Err is why the drafts are not durable, as far as that is known by now; it
// never waits.
func (t *Ticket) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.resolved {
		return nil
	}
	return t.err
}

// resolve makes the outcome known, once.
func (t *Ticket) resolve(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.resolved {
		return
	}
	t.resolved = true
	if t.err == nil {
		t.err = err
	}
	if t.ch != nil {
		close(t.ch)
	}
}
