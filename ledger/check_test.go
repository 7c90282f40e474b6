package ledger_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// TestRowsHashedAheadAreJudgedAsOneByOne spoils one member of one row and lets a
// checker that hashes in order and one that is given links say what is wrong.
func TestRowsHashedAheadAreJudgedAsOneByOne(t *testing.T) {
	spoil := []func(*ledger.Row){
		func(*ledger.Row) {},
		func(r *ledger.Row) { r.Hash[7]++ },
		func(r *ledger.Row) { r.Payload = append(bytes.Clone(r.Payload), 0) },
		func(r *ledger.Row) { r.Account += "x" },
		func(r *ledger.Row) { r.RecordedAt++ },
		func(r *ledger.Row) { r.RecordedAt -= 10 },
		func(r *ledger.Row) { r.Position++ },
	}
	for i, change := range spoil {
		for at := range 8 {
			rows := chained(ledgertest.NewMaker().Records(8))
			change(&rows[at])
			for _, start := range []int{0, 1, at} {
				one, ahead := firstFault(rows, start, false), firstFault(rows, start, true)
				if one != ahead {
					t.Errorf("change %d of row %d from %d: in order %s, ahead %s", i, at, start, one, ahead)
				}
				if start <= at && i > 0 && (one == "" && at > 0 && at > start) {
					t.Errorf("change %d of row %d from %d: nothing was found", i, at, start)
				}
			}
		}
	}
}

// chained gives records the places that a store would.
func chained(all []events.Record) []ledger.Row {
	rnd := rand.New(rand.NewPCG(1, 2))
	var rows []ledger.Row
	var last ledger.Head
	for i := range all {
		r := ledger.Row{Record: all[i], Position: last.Position + 1, RecordedAt: last.RecordedAt + 1 + events.Time(rnd.IntN(5))}
		r.Hash = r.Link(last.Hash).Hash
		last = ledger.Head{Position: r.Position, RecordedAt: r.RecordedAt, Hash: r.Hash}
		rows = append(rows, r)
	}
	return rows
}

// firstFault walks the rows from one on, "" when they are right.
func firstFault(rows []ledger.Row, start int, ahead bool) string {
	c := ledger.NewCheckerFrom(events.Position(start))
	var before events.Hash
	for i := range rows[start:] {
		r := &rows[start+i]
		fault := (*ledger.Fault)(nil)
		if ahead {
			fault = c.Linked(r, r.Link(before))
		} else {
			fault = c.Next(r, r.ContentHash())
		}
		if before = r.Hash; fault != nil {
			return fmt.Sprintf("%s at %d", fault.Kind, fault.Position)
		}
	}
	return ""
}

func TestRowsEndWhereTheHeadSays(t *testing.T) {
	c := ledger.NewChecker(ledger.Head{})
	rows := chained(ledgertest.NewMaker().Records(3))
	for i := range rows {
		if f := c.Next(&rows[i], rows[i].ContentHash()); f != nil {
			t.Fatal(f)
		}
	}
	other, before := c.Last(), ledger.Head{Position: 2}
	other.Hash[0]++
	for name, row := range map[string]struct {
		head ledger.Head
		at   events.Position // of the fault, 0 none
	}{
		"there":             {c.Last(), 0},
		"with another hash": {other, 3},
		"further on":        {ledger.Head{Position: 5}, 4},
		"before: the ledger grew while it was walked": {before, 0},
	} {
		switch f := c.End(row.head); {
		case f == nil && row.at == 0:
		case f == nil, row.at == 0, f.Kind != ledger.FaultHead, f.Position != row.at:
			t.Errorf("%s: %v", name, f)
		}
	}
}
