package scenario

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/routing"
)

// decision is a stored decision with what is needed to make it again.
type decision struct {
	event *events.Event
	stamp events.Stamp
}

// Verify re-derives every stored decision from the ledger alone, and compares
// every gateway's views with a fold from zero. It returns how many decisions
// there are and the first thing that differs.
func (w *World) Verify() (decisions int, err error) {
	if w.Trimmed > 0 {
		return 0, fmt.Errorf("the first %d events are forgotten", w.Trimmed)
	}
	for i, g := range w.Gateways {
		if err := g.compare(); err != nil {
			return 0, fmt.Errorf("gateway %d: %w", i+1, err)
		}
	}
	all := w.decisions()
	own := w.byWriter()
	view := routing.View{Admission: admission.New(), Pins: pins.New()} // no cache: the dumb twin
	at := events.Position(0)
	for i := range all {
		d := &all[i]
		for ; at < d.stamp.View; at++ {
			view.Admission.Apply(&w.Log[at])
			view.Pins.Apply(&w.Log[at])
		}
		pend(view, own[d.event.Writer], d.stamp.View, d.stamp.Pending)
		err := again(view, d)
		view.Admission.DropPending()
		view.Pins.DropPending()
		if err != nil {
			return i, fmt.Errorf("position %d: %w", d.event.Position, err)
		}
	}
	return len(all), nil
}

// pend folds a writer's events that were committed after a position, up to a
// number of its own.
func pend(view routing.View, own []*events.Event, after events.Position, upTo uint64) {
	from, _ := slices.BinarySearchFunc(own, after+1, func(e *events.Event, p events.Position) int { return int(e.Position) - int(p) })
	for _, e := range own[from:] {
		if e.WriterSeq > upTo {
			return
		}
		pending := *e
		pending.Position = 0
		view.Admission.Pend(&pending)
		view.Pins.Pend(&pending)
	}
}

func (w *World) byWriter() map[uuid.UUID][]*events.Event {
	own := map[uuid.UUID][]*events.Event{}
	for i := range w.Log {
		own[w.Log[i].Writer] = append(own[w.Log[i].Writer], &w.Log[i])
	}
	return own
}

// decisions lists all stored decisions in the order of the views that they
// were made on.
func (w *World) decisions() []decision {
	var all []decision
	for i := range w.Log {
		e := &w.Log[i]
		switch p := e.Data.(type) {
		case *events.AttemptRouted:
			all = append(all, decision{e, p.Stamp})
		case *events.RequestRefused:
			all = append(all, decision{e, p.Stamp})
		}
	}
	slices.SortStableFunc(all, func(a, b decision) int { return int(a.stamp.View) - int(b.stamp.View) })
	return all
}

// again makes a decision again and compares it with what is stored.
func again(view routing.View, d *decision) error {
	s := d.stamp
	got := routing.Decide(view, d.event.Request, d.event.Attempt, &s, nil)
	switch p := d.event.Data.(type) {
	case *events.AttemptRouted:
		if got.Action != routing.Dispatch {
			return fmt.Errorf("stored: dispatch to %d; again: %s %s", p.Chosen, got.Action, got.Refusal.Message)
		}
		want := *p
		made := *got.Routed(&s)
		made.Listed = want.Listed
		if want.Listed != 0 {
			made.Skipped = nil
		}
		return same(d.event, &want, &made)
	case *events.RequestRefused:
		if got.Action != routing.Refuse {
			return fmt.Errorf("stored: a refusal; again: %s to %d", got.Action, got.Account)
		}
		made := got.Refused(&s)
		if got.Long() {
			made.Verdicts = got.Verdicts()
		}
		return same(d.event, p, made)
	}
	return nil
}

// same compares payloads as they are stored, references to pending evidence
// apart: they were numbers then and may be positions now.
func same(e *events.Event, want, made events.Payload) error {
	a := events.Seal(&events.Draft{Header: e.Header, Data: want})
	b := events.Seal(&events.Draft{Header: e.Header, Data: made})
	if !bytes.Equal(a.Payload, b.Payload) {
		return fmt.Errorf("stored %+v\n again %+v", want, made)
	}
	return nil
}

// compare holds I1: the committed views are a fold from zero, and so are a
// snapshot of them and its tail.
func (g *Gateway) compare() error {
	for _, p := range []projections.Projection{g.view.Admission, g.view.Pins} {
		fresh := newLike(p)
		for i := range g.world.Log[:g.live.Position()] {
			fresh.Apply(&g.world.Log[i])
		}
		state := p.AppendState(nil)
		if !bytes.Equal(state, fresh.AppendState(nil)) {
			return fmt.Errorf("%s: the live view is not the fold from zero", p.Name())
		}
		loaded := newLike(p)
		if err := loaded.LoadState(state); err != nil {
			return err
		}
		if !bytes.Equal(state, loaded.AppendState(nil)) {
			return fmt.Errorf("%s: a loaded state differs", p.Name())
		}
	}
	return nil
}

func newLike(p projections.Projection) projections.Projection {
	if p.Name() == "pins" {
		return pins.New()
	}
	return admission.New()
}

func (w *World) cmdVerify(args) error {
	n, err := w.Verify()
	if err != nil {
		return err
	}
	w.tracef("%d decisions, all made again alike", n)
	return nil
}
