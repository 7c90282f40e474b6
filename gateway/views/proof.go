package views

import (
	"bytes"
	"context"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/snapshot"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/requests"
)

// FaultSnapshot is the kind of fault of a stored state that is not what the
// events give. The ledger itself holds then.
const FaultSnapshot = "snapshot"

// Proof holds the stored states against a fold from zero. What nobody would
// believe is left alone: it changes no answer.
type Proof struct {
	snaps *snapshot.Store
	folds []*proven
	fault *ledger.Fault
}

// proven is one projection's fold and the places of its states, in order.
type proven struct {
	view   projections.Projection
	places []events.Position
}

// NewProof is a proof of the states that a ledger's store keeps now. Apply every
// event from position 1 on, in order.
func NewProof(ctx context.Context, log Log) *Proof {
	p := &Proof{snaps: snapshot.Of(log, nil)}
	places, err := p.snaps.Places(ctx)
	if err != nil {
		return p // then no question is answered from them
	}
	for _, v := range kept(requests.New(requests.Keep)) {
		f := &proven{view: v}
		for _, at := range places {
			if at.Name == nameOf(v) && at.Version == v.Version() {
				f.places = append(f.places, at.Position)
			}
		}
		p.folds = append(p.folds, f)
	}
	return p
}

// Apply folds an event and compares what is stored at its position. A fold ends
// with the last of its places.
func (p *Proof) Apply(ctx context.Context, e *events.Event) {
	for _, f := range p.folds {
		if len(f.places) == 0 {
			continue
		}
		f.view.Apply(e)
		if f.places[0] != e.Position {
			continue
		}
		f.places = f.places[1:]
		if s, ok := p.snaps.At(ctx, nameOf(f.view), f.view.Version(), e.Position); ok && p.fault == nil && !bytes.Equal(s.State, stateOf(f.view)) {
			p.fault = &ledger.Fault{Position: e.Position, Kind: FaultSnapshot,
				Detail: fmt.Sprintf("the stored snapshot of %s at %d is not what the events give; snapshots may be deleted, they are made again", nameOf(f.view), e.Position)}
		}
	}
}

// Fault is the first state that is not what the events give, nil for none.
func (p *Proof) Fault() *ledger.Fault { return p.fault }
