package ledger_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// kept is a store of accounts' entries alone.
type kept struct {
	ledger.Store
	entries map[uint64]map[string][]byte
	span    ledger.Span
	err     error
	asked   int
}

func (k *kept) Entries(_ context.Context, first, last uint64, fn func(uint64, string, []byte) error) (ledger.Span, error) {
	k.asked++
	for block := first; block <= last; block++ {
		for account, offsets := range k.entries[block] {
			if err := fn(block, account, offsets); err != nil {
				return k.span, err
			}
		}
	}
	return k.span, k.err
}

func ofRow(p events.Position) string {
	if p%5 == 0 {
		return ""
	}
	return fmt.Sprint("account-", p%3)
}

// keeping has the right entries of some blocks.
func keeping(blocks uint64) *kept {
	k := &kept{entries: map[uint64]map[string][]byte{}, span: ledger.Span{First: 1, Last: events.Position(blocks * ledger.EntryBlock)}}
	for p := events.Position(1); p <= k.span.Last; p++ {
		block, offset := uint64(p-1)/ledger.EntryBlock, uint16((p-1)%ledger.EntryBlock)
		if k.entries[block] == nil {
			k.entries[block] = map[string][]byte{}
		}
		if a := ofRow(p); a != "" {
			k.entries[block][a] = binary.BigEndian.AppendUint16(k.entries[block][a], offset)
		}
	}
	return k
}

// walk gives the first fault of a walk over positions.
func walk(t *testing.T, k *kept, from, to events.Position) *ledger.Fault {
	t.Helper()
	c := ledger.NewEntryCheck(k)
	var first *ledger.Fault
	note := func(f *ledger.Fault, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = f
		}
	}
	for p := from; p <= to; p++ {
		row := ledger.Row{Position: p}
		row.Account = ofRow(p)
		note(c.Next(t.Context(), &row))
	}
	note(c.End(t.Context()))
	return first
}

func TestEntriesAreComparedWhereABlockWasWalkedWholeAndMustBeThere(t *testing.T) {
	const size = ledger.EntryBlock
	for _, c := range []struct {
		name     string
		damaged  uint64 // the block whose entries are broken
		from, to events.Position
		span     ledger.Span
		at       events.Position
	}{
		{"all is right", 99, 1, 20*size + 7, ledger.Span{}, 0},
		{"the first block", 0, 1, 20 * size, ledger.Span{}, 1},
		{"the last of a look", 15, 1, 20 * size, ledger.Span{}, 15*size + 1},
		{"the first of the next look", 16, 1, 20 * size, ledger.Span{}, 16*size + 1},
		{"the last block", 19, 1, 20*size + 7, ledger.Span{}, 19*size + 1},
		{"a block that was begun late", 1, size + 2, 3 * size, ledger.Span{}, 0},
		{"a block that was begun at its first", 1, size + 1, 3 * size, ledger.Span{}, size + 1},
		{"a block that was not ended", 2, 1, 3*size - 1, ledger.Span{}, 0},
		{"a block that is partly archived", 1, 1, 3 * size, ledger.Span{First: size + 2, Last: 3 * size}, 0},
		{"a block behind what is archived", 1, 1, 3 * size, ledger.Span{First: size + 1, Last: 3 * size}, size + 1},
		{"a block that is not entered yet", 2, 1, 3 * size, ledger.Span{First: 1, Last: 2 * size}, 0},
	} {
		k := keeping(20)
		if c.span != (ledger.Span{}) {
			k.span = c.span
		}
		delete(k.entries[c.damaged], "account-1")
		f := walk(t, k, c.from, c.to)
		if (f != nil) != (c.at != 0) || f != nil && (f.Position != c.at || f.Kind != ledger.FaultIndex) {
			t.Errorf("%s: %v", c.name, f)
		}
		if k.asked > 3 {
			t.Errorf("%s: asked %d times", c.name, k.asked)
		}
	}
}

func TestAnyEntryThatIsNotWhatTheEventsSayIsAFault(t *testing.T) {
	for what, damage := range map[string]func(map[string][]byte){
		"":                     nil,
		"it is gone":           func(e map[string][]byte) { delete(e, "account-1") },
		"all are gone":         func(e map[string][]byte) { clear(e) },
		"it is shorter":        func(e map[string][]byte) { e["account-2"] = e["account-2"][2:] },
		"it is another's":      func(e map[string][]byte) { e["account-0"] = e["account-1"] },
		"it has half a place":  func(e map[string][]byte) { e["account-0"] = append(e["account-0"], 0) },
		"one place is another": func(e map[string][]byte) { e["account-0"][1] ^= 1 },
		"one place is twice":   func(e map[string][]byte) { copy(e["account-0"], e["account-0"][2:4]) },
		"nobody has it":        func(e map[string][]byte) { e["nobody"] = []byte{0, 1} },
	} {
		k := keeping(2)
		if damage != nil {
			damage(k.entries[1])
		}
		f := walk(t, k, 1, 2*ledger.EntryBlock)
		if (f != nil) != (damage != nil) || f != nil && (f.Position != ledger.EntryBlock+1 || f.Kind != ledger.FaultIndex) {
			t.Errorf("%s: %v", what, f)
		}
	}
}

func TestEntriesThatCannotBeReadAreAFault(t *testing.T) {
	k := keeping(1)
	k.err = fmt.Errorf("page 7: %w", ledger.ErrBroken)
	if f := walk(t, k, 1, ledger.EntryBlock); f == nil || f.Position != 1 || f.Kind != ledger.FaultIndex {
		t.Errorf("%v", f)
	}
	if f, err := ledger.NewEntryCheck(nil).Next(t.Context(), &ledger.Row{Position: 1}); f != nil || err != nil {
		t.Errorf("a store without entries: %v %v", f, err)
	}
}
