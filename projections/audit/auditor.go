// Package audit derives every recorded decision again: it folds to the position
// that the decision's view stood at, adds the writer's own events that the view
// had pending, calls the decision function of the recorded rules, and compares.
// One pass over the ledger in position order, bounded memory, any number of
// writers. It reads no ledger itself and judges nothing.
package audit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/listed"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/routing"
)

// ErrUnreachable: a decision's view lies before what the auditor still holds,
// and no way to read the ledger again was given.
var ErrUnreachable = errors.New("the view of the decision is no longer held")

// Options narrow and feed an audit. All are optional.
type Options struct {
	// Only says whether a decision is derived again; nil: all are.
	Only func(e *events.Event) bool
	// Visit is called for every decision that was selected, while the view
	// stands as it stood for it. What it is given must not be kept.
	Visit func(*Case)
	// Read calls fn for the events after a position up to another, in order.
	// It serves the rare writer whose view lagged behind by more than the
	// auditor holds. Events may be reused between calls.
	Read func(after, upto events.Position, fn func(*events.Event) error) error
	// Held is how many events are held at least for writers that lag; 0 is
	// DefaultHeld.
	Held int
}

// DefaultHeld events are kept for writers that lag behind the scan.
const DefaultHeld = 1 << 15

// heldFactor times Options.Held is where even a writer in use must wait for a
// second read when its view moves on: a spool that comes back after an outage
// holds decisions on an old one. As long as that stands still, none is needed.
const heldFactor = 16

// Case is one decision beside its derivation.
type Case struct {
	Event    *events.Event
	Recorded Recorded
	View     routing.View // as of the decision
	Derived  routing.Decision
	Stamp    events.Stamp // as the derivation completed it
	// Known is false when this binary does not carry the decision's rules: then
	// Derived is what today's rules say, and nothing was compared.
	Known       bool
	Differences []Difference
	Own         []events.Event // the writer's events that were pending, for references
}

// Auditor is the audit. Apply every event from position 1 on, in order.
type Auditor struct {
	o     Options
	at    events.Position // last applied
	held  []events.Event  // contiguous, up to `at`
	lanes []*lane
	lists *listed.Book

	report Report
	buf    [2][]byte
}

// lane is one writer's view, lagging behind the scan as the writer's own did.
type lane struct {
	writer uuid.UUID // zero: no writer's, only kept so that the next need not fold from zero
	live   *projections.Live
	view   routing.View
	used   events.Position // its last decision
	seen   events.Position // up to here own events were looked for
}

// New is an auditor of an empty ledger.
func New(o Options) *Auditor {
	if o.Held <= 0 {
		o.Held = DefaultHeld
	}
	return &Auditor{o: o, lists: listed.New(listsKept)}
}

// From is an auditor that begins behind a position at which the views stand as
// given. Apply every event from there on; decisions on older views must be
// within reach of Options.Read.
func From(o Options, at events.Position, adm *admission.View, pin *pins.View) *Auditor {
	a := New(o)
	l := laneOf(adm, pin)
	l.live.Resume(at)
	a.at, a.lanes = at, []*lane{l}
	return a
}

func newLane() *lane { return laneOf(admission.New(), pins.New()) }

func laneOf(adm *admission.View, pin *pins.View) *lane {
	return &lane{live: projections.NewLive(adm, pin), view: routing.View{Admission: adm, Pins: pin, Cache: routing.NewCache()}}
}

// Position is the last one applied.
func (a *Auditor) Position() events.Position { return a.at }

// Report is the audit so far.
func (a *Auditor) Report() Report { return a.report.clone() }

// Apply takes the next event. An error means that the audit cannot go on; what
// it finds wrong is in the report.
func (a *Auditor) Apply(e *events.Event) error {
	if e.Position != a.at+1 {
		return fmt.Errorf("audit event %d: want position %d", e.Position, a.at+1)
	}
	if s := stampOf(e.Data); s != nil && (a.o.Only == nil || a.o.Only(e)) {
		if err := a.decision(e, s); err != nil {
			return fmt.Errorf("derive the decision at %d: %w", e.Position, err)
		}
	}
	if p, ok := e.Data.(*events.CandidatesListed); ok {
		a.lists.Add(e, p.Verdicts)
	}
	a.report.Events++
	a.at = e.Position
	a.held = append(a.held, *e)
	a.shrink()
	return nil
}

func stampOf(p events.Payload) *events.Stamp {
	switch p := p.(type) {
	case *events.AttemptRouted:
		return &p.Stamp
	case *events.RequestRefused:
		if p.Stamp.Rules == 0 {
			return nil // turned away before any decision: there is nothing to derive
		}
		return &p.Stamp
	}
	return nil
}

func (a *Auditor) decision(e *events.Event, s *events.Stamp) error {
	a.report.Decisions++
	c := Case{Event: e, Known: s.Rules == routing.Rules}
	if !c.Known {
		a.report.skip(s.Rules)
		if a.o.Visit == nil {
			return nil
		}
	}
	if s.View >= e.Position {
		a.report.fault(Fault{Position: e.Position, Kind: KindDecision, Detail: fmt.Sprintf("it says that its view stood at %d, which is not before it", s.View)})
		return nil
	}
	l, err := a.lane(e, s)
	if err != nil {
		return err
	}
	l.used = e.Position
	c.View = l.view
	if c.Recorded, err = a.recorded(e); err != nil {
		var dangling danglingError
		if errors.As(err, &dangling) {
			a.report.fault(Fault{Position: e.Position, Kind: KindDecision, Detail: dangling.Error()})
			return nil
		}
		return err
	}
	a.derive(&c)
	if a.o.Visit != nil {
		c.Own = a.own(e, s)
		a.o.Visit(&c)
	}
	return nil
}

// derive decides again and compares.
func (a *Auditor) derive(c *Case) {
	c.Stamp = *c.Recorded.Stamp
	c.Stamp.Loads = slices.Clone(c.Stamp.Loads)
	attempt := c.Event.Attempt
	if attempt == 0 {
		attempt = uint32(len(c.Stamp.Tried)) + 1
	}
	c.Derived = routing.Decide(c.View, c.Event.Request, attempt, &c.Stamp, nil)
	if !c.Known {
		return
	}
	a.report.Rederived++
	if a.same(c) {
		return
	}
	c.Differences = differences(c)
	a.report.fault(Fault{Position: c.Event.Position, Kind: KindDecision, Detail: Sentence(c.Differences)})
}

// same compares the recorded decision with the derived one by their stored
// form: every field, those added later too.
func (a *Auditor) same(c *Case) bool {
	derived := derivedPayload(c)
	if derived == nil {
		return false
	}
	if !slices.Equal(c.Recorded.listed, derivedList(c)) {
		return false
	}
	r := events.SealTo(a.buf[0][:0], &events.Draft{Data: c.Recorded.bare})
	d := events.SealTo(a.buf[1][:0], &events.Draft{Data: derived})
	a.buf[0], a.buf[1] = r.Payload, d.Payload
	return string(r.Payload) == string(d.Payload)
}
