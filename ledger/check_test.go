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
				one, ahead := firstFault(rows, start, checkFrom, false), firstFault(rows, start, checkFrom, true)
				if one != ahead {
					t.Errorf("change %d of row %d from %d: in order %s, ahead %s", i, at, start, one, ahead)
				}
				one, ahead = firstFault(rows, start, checkBehind, false), firstFault(rows, start, checkBehind, true)
				if one != ahead {
					t.Errorf("change %d of row %d behind %d: in order %s, ahead %s", i, at, start, one, ahead)
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

// checkFrom starts where the hash before is not known.
func checkFrom(_ []ledger.Row, start int) *ledger.Checker {
	return ledger.NewCheckerFrom(events.Position(start))
}

// checkBehind starts behind a row that is known to be right, which whoever hashes
// ahead has not seen.
func checkBehind(rows []ledger.Row, start int) *ledger.Checker {
	if start == 0 {
		return ledger.NewChecker(ledger.Head{})
	}
	r := &rows[start-1]
	return ledger.NewChecker(ledger.Head{Position: r.Position, RecordedAt: r.RecordedAt, Hash: r.Hash})
}

// firstFault walks the rows from one on, "" when they are right.
func firstFault(rows []ledger.Row, start int, check func([]ledger.Row, int) *ledger.Checker, ahead bool) string {
	c := check(rows, start)
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
