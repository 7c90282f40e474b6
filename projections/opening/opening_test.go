package opening

import (
	"bytes"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// at is an event of attempt 1 of the n-th request.
func at(p events.Position, n uint64, data events.Payload) *events.Event {
	return &events.Event{Header: events.Header{Account: "a", Request: uuid.UUID{15: byte(n), 14: byte(n >> 8)}, Attempt: 1}, Position: p, Data: data}
}

func claim() *events.TrialClaimed {
	return &events.TrialClaimed{Trial: events.Trial{Cells: []events.Cell{{Axis: events.AxisWindow, Scope: events.Scope{Kind: events.ScopeModel, Name: "m1"}}}}}
}

func TestAClaimStandsUntilItIsUsedOrClosed(t *testing.T) {
	v := New()
	v.Apply(at(1, 1, claim()))
	v.Apply(at(2, 2, claim()))
	v.Apply(at(3, 3, claim()))
	v.Apply(at(4, 2, &events.AttemptRouted{}))
	v.Apply(at(5, 1, &events.TrialClosed{}))
	got := v.Claims()
	if len(got) != 1 || got[0].Position != 3 || got[0].Cells[0].Scope.Name != "m1" {
		t.Fatalf("%+v", got)
	}
}

func TestAStateReadsBackAsWritten(t *testing.T) {
	v := New()
	v.Apply(at(1, 1, claim()))
	v.Apply(at(2, 2, &events.PolicyAdopted{}))
	state := v.AppendState(nil)
	w := New()
	if err := w.LoadState(state); err != nil || !w.Adopted() || len(w.Claims()) != 1 || !bytes.Equal(w.AppendState(nil), state) {
		t.Fatalf("%v %+v", err, w)
	}
	for n := range state {
		if err := w.LoadState(state[:n]); err == nil {
			t.Fatalf("a state cut at %d was read", n)
		}
	}
}

func TestClaimsAreBounded(t *testing.T) {
	v := New()
	for n := range uint64(2 * maxClaims) {
		v.Apply(at(events.Position(n+1), n, claim()))
	}
	list := v.Claims()
	if len(list) > maxClaims || list[len(list)-1].Position != 2*maxClaims {
		t.Fatalf("%d claims up to %d", len(list), list[len(list)-1].Position)
	}
}
