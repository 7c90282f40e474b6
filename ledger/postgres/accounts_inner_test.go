package postgres

import (
	"slices"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

func TestWhatIsEnteredWhileEntriesAreReadIsLeftToTheScan(t *testing.T) {
	const size = ledger.EntryBlock
	e := entries{reach: 2 * size}
	for block := range events.Position(4) {
		e.take(block, []byte{0, 0, 0, 9, 0x0f, 0xff}, size+1, 9*size)
	}
	if want := []events.Position{size + 10, 2 * size}; !slices.Equal(e.queue, want) {
		t.Errorf("%v, want %v", e.queue, want)
	}
}
