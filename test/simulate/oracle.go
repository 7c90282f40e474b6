package simulate

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/routing"
)

// folded are the projections that a gateway decides on.
type folded struct {
	live     *projections.Live
	view     routing.View
	requests *requests.View
}

func newFolded() *folded {
	v := routing.View{Admission: admission.New(), Pins: pins.New(), Cache: routing.NewCache()}
	rows := requests.New(requests.Keep)
	return &folded{live: projections.NewLive(v.Admission, v.Pins, rows), view: v, requests: rows}
}

func (v *folded) state() []byte {
	b := v.view.Admission.AppendState(nil)
	b = v.view.Pins.AppendState(b)
	return v.requests.AppendState(b)
}

// oracle is the ledger as it truly is: checked row by row, and folded from zero
// by somebody who never had anything pending.
type oracle struct {
	*folded
	w       *world
	check   *ledger.Checker
	log     []events.Event
	numbers map[uuid.UUID]uint64
	routed  map[try]events.Position
	ended   map[try]int
	claimed map[try]events.Position
	refused map[uuid.UUID]events.Position
	served  map[try]events.Position
}

// try is one attempt of a request.
type try struct {
	request uuid.UUID
	attempt uint32
}

func newOracle(w *world) *oracle {
	return &oracle{folded: newFolded(), w: w, check: ledger.NewChecker(ledger.Head{}), numbers: map[uuid.UUID]uint64{},
		routed: map[try]events.Position{}, ended: map[try]int{}, claimed: map[try]events.Position{},
		refused: map[uuid.UUID]events.Position{}, served: map[try]events.Position{}}
}

func (o *oracle) at() events.Position { return events.Position(len(o.log)) }

// row takes the next committed row.
func (o *oracle) row(r *ledger.Row) error {
	if fault := o.check.Next(r, r.ContentHash()); fault != nil {
		return fault
	}
	e, err := r.Event()
	if err != nil {
		return err
	}
	if want := o.numbers[e.Writer] + 1; e.WriterSeq != want {
		return fmt.Errorf("event %d of a writer follows its event %d: a place in its order is skipped or taken twice", e.WriterSeq, want-1)
	}
	o.numbers[e.Writer] = e.WriterSeq
	o.log = append(o.log, e)
	if err := o.book(&e); err != nil {
		return err
	}
	o.live.Commit(o.log[len(o.log)-1:])
	o.w.laws.committed(&o.log[len(o.log)-1])
	return nil
}

// book notes which attempt, outcome and refusal stands where.
func (o *oracle) book(e *events.Event) error {
	k := try{e.Request, e.Attempt}
	switch e.Data.(type) {
	case *events.AttemptRouted:
		if at := o.routed[k]; at != 0 {
			return fmt.Errorf("attempt %d of a request is routed at %d and again at %d", e.Attempt, at, e.Position)
		}
		o.routed[k] = e.Position
	case *events.RequestRefused:
		if at := o.refused[e.Request]; at != 0 {
			return fmt.Errorf("a request is refused at %d and again at %d", at, e.Position)
		}
		o.refused[e.Request] = e.Position
	case *events.TrialClaimed:
		o.claimed[k] = e.Position
	case *events.AttemptSucceeded:
		o.served[k] = e.Position
		o.ended[k]++
	default:
		if _, ok := events.FailureOf(e.Data); ok {
			o.ended[k]++
		}
	}
	return nil
}
