package ledger

import (
	"testing"

	"github.com/waybill/waybill/events"
)

func TestATailKeepsTheNewestCommitsOnly(t *testing.T) {
	tail := newTail(4)
	for p := events.Position(1); p <= 9; p += 2 {
		tail.push([]events.Event{{Position: p}, {Position: p + 1}})
	}
	for _, row := range []struct {
		at   events.Position
		run  int             // events that need not be read
		upTo events.Position // that the store is read, without a run
	}{{10, 0, 10}, {9, 1, 0}, {8, 2, 0}, {7, 1, 0}, {6, 2, 0}, {5, 0, 6}, {0, 0, 6}} {
		if run, upTo, _ := tail.after(row.at); len(run) != row.run || row.run == 0 && upTo != row.upTo || row.run > 0 && run[0].Position != row.at+1 {
			t.Errorf("after %d: %d events, up to %d; want %d, up to %d", row.at, len(run), upTo, row.run, row.upTo)
		}
	}
}
