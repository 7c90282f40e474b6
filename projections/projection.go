// Package projections folds events into views. A view is fold(committed) plus,
// layered over it, fold(own events not yet committed), so that a process sees
// its own 402 at once, also while the ledger is slow or down. Nothing here
// knows a clock, a network or a disk; views have no setters.
package projections

import "github.com/waybill/waybill/events"

// Projection is a fold. Apply must be called in position order; it must not
// keep the event. State is canonical: equal folds give equal bytes (I1).
type Projection interface {
	// Name is permanent; it keys snapshots.
	Name() string
	// Version changes when the fold's output for the same events changes.
	Version() uint32
	Apply(e *events.Event)
	// AppendState appends the committed state, canonically encoded.
	AppendState(b []byte) []byte
	// LoadState replaces the state by one that AppendState wrote.
	LoadState(b []byte) error
}

// Layered is a projection that decisions are made on: it also shows own events
// that are not committed yet.
type Layered interface {
	Projection
	// Pend folds an own event into the upper layer only. Its Position is zero.
	Pend(e *events.Event)
	// DropPending forgets the upper layer.
	DropPending()
}

// Live drives projections through commits and own pending events. It is not
// safe for concurrent use: the caller's one lock covers it and the decisions
// made on its views.
type Live struct {
	layered []Layered
	plain   []Projection
	pending []events.Event
	at      events.Position
	own     uint64
}

// NewLive folds into all given projections; those that are Layered also see
// pending events.
func NewLive(all ...Projection) *Live {
	l := &Live{}
	for _, p := range all {
		if lp, ok := p.(Layered); ok {
			l.layered = append(l.layered, lp)
		} else {
			l.plain = append(l.plain, p)
		}
	}
	return l
}

// Resume stands at a position with nothing pending: where the views are after
// LoadState, or when a view is handed to another writer.
func (l *Live) Resume(at events.Position) {
	l.at, l.own = at, 0
	clear(l.pending)
	l.pending = l.pending[:0]
	for _, p := range l.layered {
		p.DropPending()
	}
}

// Position is the committed position that the views stand at.
func (l *Live) Position() events.Position { return l.at }

// Own is the writer_seq of the newest own event that the views hold.
func (l *Live) Own() uint64 { return l.own }

// Pending is the own events that are not committed, oldest first. The slice is
// the live view's own.
func (l *Live) Pending() []events.Event { return l.pending }

// Pend folds an own event that has just been submitted.
func (l *Live) Pend(e events.Event) {
	l.pending = append(l.pending, e)
	l.own = e.WriterSeq
	for _, p := range l.layered {
		p.Pend(&e)
	}
}

// Commit folds committed events, contiguous from Position, and re-applies what
// is still pending in order. Several runs cost one re-application: whoever has
// fallen behind catches up by giving all that it has.
func (l *Live) Commit(runs ...[]events.Event) {
	done, some := 0, false
	for _, run := range runs {
		for i := range run {
			some = true
			done += l.apply(&run[i], done)
		}
	}
	if !some || len(l.pending) == 0 {
		return
	}
	n := copy(l.pending, l.pending[done:])
	clear(l.pending[n:])
	l.pending = l.pending[:n]
	for _, p := range l.layered {
		p.DropPending()
		for i := range l.pending {
			p.Pend(&l.pending[i])
		}
	}
}

// apply folds one committed event. It returns 1 if it is the own event that is
// the next to be committed: a writer's events commit in its own order.
func (l *Live) apply(e *events.Event, done int) int {
	for _, p := range l.plain {
		p.Apply(e)
	}
	for _, p := range l.layered {
		p.Apply(e)
	}
	l.at = e.Position
	if done < len(l.pending) && l.pending[done].ID == e.ID {
		return 1
	}
	return 0
}
