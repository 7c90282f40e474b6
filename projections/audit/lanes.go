package audit

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// lane brings the writer's view to where it stood for a decision: committed up
// to Stamp.View, and over it the writer's own events up to Stamp.Pending.
func (a *Auditor) lane(e *events.Event, s *events.Stamp) (*lane, error) {
	l := a.find(e.Writer, s.View)
	if l == nil {
		return a.reread(e, s)
	}
	a.advance(l, s.View)
	l.seen = max(l.seen, s.View)
	for l.seen < a.at {
		own := &a.held[a.index(l.seen)]
		if own.Writer == e.Writer && own.WriterSeq > s.Pending {
			break // of a later decision's view
		}
		if own.Writer == e.Writer && own.WriterSeq > l.live.Own() {
			l.live.Pend(pending(own))
		}
		l.seen = own.Position
	}
	return l, nil
}

// find is the writer's own lane, or a new one for it that starts from the
// nearest view at or before the position. nil: nothing held reaches back so far.
func (a *Auditor) find(writer uuid.UUID, view events.Position) *lane {
	var near *lane
	for i, l := range a.lanes {
		if !a.reaches(l, view) {
			if l.writer == writer {
				a.lanes = slices.Delete(a.lanes, i, i+1)
				return a.find(writer, view)
			}
			continue
		}
		if l.writer == writer {
			return l
		}
		if near == nil || l.live.Position() > near.live.Position() {
			near = l
		}
	}
	switch {
	case near != nil && near.writer == uuid.Nil: // nobody else's: taken over
		near.writer, near.seen = writer, 0
		near.live.Resume(near.live.Position())
		return near
	case near != nil:
		if near = near.copy(); near != nil {
			break
		}
		fallthrough
	default:
		if a.base() != 0 {
			return nil
		}
		near = newLane()
	}
	near.writer = writer
	a.lanes = append(a.lanes, near)
	return near
}

// reaches says whether a lane can be brought to a view: it lies ahead, or is
// the one that the lane stands at, and what it lacks is held.
func (a *Auditor) reaches(l *lane, view events.Position) bool {
	at := l.live.Position()
	return at == view && l.seen >= a.base() || at <= view && at >= a.base()
}

// copy is a lane of its own with the same committed views.
func (l *lane) copy() *lane {
	c := newLane()
	if c.view.Admission.LoadState(l.view.Admission.AppendState(nil)) != nil ||
		c.view.Pins.LoadState(l.view.Pins.AppendState(nil)) != nil ||
		len(c.view.Admission.Roster()) != len(l.view.Admission.Roster()) {
		return nil
	}
	c.live.Resume(l.live.Position())
	return c
}

// base is the last position that is not held any more.
func (a *Auditor) base() events.Position { return a.at - events.Position(len(a.held)) }

// index is where the event after a position is held.
func (a *Auditor) index(after events.Position) int { return int(after - a.base()) }

// advance commits what is held up to a position.
func (a *Auditor) advance(l *lane, upto events.Position) {
	if from := l.live.Position(); from < upto {
		l.live.Commit(a.held[a.index(from):a.index(upto)])
	}
}

// pending is an own event as the writer's view had it before it was committed.
func pending(e *events.Event) events.Event { return events.Event{Header: e.Header, Data: e.Data} }

// own lists the events that were pending for a decision, with the places that
// they have now.
func (a *Auditor) own(e *events.Event, s *events.Stamp) []events.Event {
	if s.View < a.base() {
		return nil
	}
	var out []events.Event
	for i := range a.held[a.index(s.View):] {
		if o := &a.held[a.index(s.View)+i]; o.Writer == e.Writer && o.WriterSeq <= s.Pending {
			out = append(out, *o)
		}
	}
	return out
}

// reread folds a lane from zero by reading the ledger again.
func (a *Auditor) reread(e *events.Event, s *events.Stamp) (*lane, error) {
	if a.o.Read == nil {
		return nil, ErrUnreachable
	}
	l := newLane()
	l.writer, l.seen = e.Writer, s.View
	err := a.o.Read(0, e.Position-1, func(old *events.Event) error {
		own := old.Writer == e.Writer
		switch {
		case old.Position <= s.View:
			l.live.Commit([]events.Event{*old})
			return nil
		case own && old.WriterSeq > s.Pending: // a later decision's; what follows, too
			return nil
		case own:
			l.live.Pend(pending(old))
		}
		if l.seen == old.Position-1 {
			l.seen = old.Position
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.lanes = append(a.lanes, l) // the next decision of this writer finds it
	return l, nil
}

// shrink lets go of events that no lane in use needs. A lane that was not used
// for a while is dropped, and the most advanced one moves on unowned, so that a
// new writer need not fold from zero.
func (a *Auditor) shrink() {
	if len(a.held) < 2*a.o.Held {
		return
	}
	floor := a.at - events.Position(a.o.Held)
	busy := len(a.held) < heldFactor*a.o.Held
	if len(a.lanes) == 0 && a.base() == 0 {
		a.lanes = append(a.lanes, newLane())
	}
	lead := a.lead()
	keep := a.lanes[:0]
	low := floor
	var ahead *lane
	for _, l := range a.lanes {
		at := l.live.Position()
		switch {
		case at >= floor:
		case busy && l.used > floor && at >= a.base():
			low = min(low, at)
		case l.used > floor && l.seen >= floor: // it stands still: what comes is enough
			if l == lead {
				ahead = a.ahead(l, floor)
			}
		case l == lead:
			l.writer = uuid.Nil
			a.advance(l, floor)
		default:
			continue
		}
		keep = append(keep, l)
	}
	clear(a.lanes[len(keep):])
	if a.lanes = keep; ahead != nil {
		a.lanes = append(a.lanes, ahead)
	}
	n := copy(a.held, a.held[a.index(low):])
	clear(a.held[n:])
	a.held = a.held[:n]
}

// ahead is a lane of nobody's that goes on from one that stands still.
func (a *Auditor) ahead(l *lane, to events.Position) *lane {
	c := l.copy()
	if c != nil {
		a.advance(c, to)
	}
	return c
}

// lead is the most advanced lane whose next event is held.
func (a *Auditor) lead() *lane {
	var lead *lane
	for _, l := range a.lanes {
		if l.live.Position() < a.base() {
			continue
		}
		if lead == nil || l.live.Position() > lead.live.Position() {
			lead = l
		}
	}
	return lead
}
