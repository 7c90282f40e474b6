package ledgertest

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// twin is a store of ids that a reader sees through: what a known one stands for.
type twin map[uuid.UUID]ledger.Result

// anyBatches commits batches of many sizes whose ids grow, come late, come again
// and come again with other content, and compares every answer with the twin's.
func anyBatches(t *testing.T, open Opener) {
	const most = 12_000 // more than what any store remembers of the newest ids
	s := opened(t, open)
	rnd := rand.New(rand.NewPCG(1, 2))
	g, known := NewMaker(), twin{}
	var old, late []events.Record
	for len(old) < most {
		var batch []events.Record
		for range rnd.IntN(180) {
			switch r := g.Records(1)[0]; {
			case rnd.IntN(20) == 0:
				late = append(late, r) // it comes in a later batch
			case rnd.IntN(20) == 0 && len(late) > 0:
				i := rnd.IntN(len(late))
				batch, late[i] = append(batch, late[i]), r
			case rnd.IntN(60) == 0 && len(old) > 0:
				batch = append(batch, old[len(old)-1-rnd.IntN(min(len(old), 1+rnd.IntN(10_000)))])
			case rnd.IntN(120) == 0 && len(old) > 0:
				again := old[rnd.IntN(len(old))]
				again.Attempt++
				batch = append(batch, again)
			default:
				batch = append(batch, r)
			}
		}
		known.compare(t, batch, commit(t, s, batch...))
		old = append(old, batch...)
	}
	if rows := check(t, s); len(rows) != len(known) {
		t.Errorf("%d rows of %d ids", len(rows), len(known))
	}
}

// compare tells the twin of a batch and its answers.
func (k twin) compare(t *testing.T, batch []events.Record, got []ledger.Result) {
	t.Helper()
	for i := range batch {
		first, again := k[batch[i].ID]
		content := batch[i].ContentHash()
		switch r := &got[i]; {
		case !again:
			if next := events.Position(len(k) + 1); r.Position != next || r.Known || r.Err != nil {
				t.Fatalf("new %s: %+v, want position %d", batch[i].ID, *r, next)
			}
			k[batch[i].ID] = ledger.Result{Position: r.Position, Hash: content}
		case first.Hash != content:
			if !errors.Is(r.Err, ledger.ErrConflict) || r.Position != 0 {
				t.Fatalf("%s with other content: %+v", batch[i].ID, *r)
			}
		case r.Position != first.Position || !r.Known || r.Err != nil:
			t.Fatalf("%s again: %+v, want position %d", batch[i].ID, *r, first.Position)
		}
	}
}
