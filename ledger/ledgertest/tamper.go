package ledgertest

import (
	"strconv"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/checkpoint"
)

// Tamperer is a store in the hands of somebody who may do anything to its
// database: Exec runs SQL with the triggers out of the way, in which $EVENTS is
// the table of events, $HEX is what stands before a quoted text of hex digits,
// $NOBODY is an account that has no events, and columns have their own names.
type Tamperer interface {
	ledger.Store
	Tamper(t *testing.T, sql string)
	// Settle waits until accounts' entries are there for every whole block.
	Settle(t *testing.T)
}

// RunTamper is what verification must find in every store. open gives an empty
// store of its own.
func RunTamper(t *testing.T, open func(t *testing.T) Tamperer) {
	row := "recorded_at, observed_at, $ID, writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash FROM $EVENTS"
	for _, c := range []struct {
		name string
		sql  []string
		at   events.Position
		kind string
	}{
		{"nothing", nil, 0, ""},
		{"an event edited", []string{"UPDATE $EVENTS SET attempt = 9 WHERE position = 700"}, 700, ledger.FaultChain},
		{"a payload edited", []string{"UPDATE $EVENTS SET payload = hash WHERE position = 700"}, 700, ledger.FaultChain},
		{"a hash edited", []string{"UPDATE $EVENTS SET hash = (SELECT hash FROM $EVENTS WHERE position = 699) WHERE position = 700"}, 700, ledger.FaultChain},
		{"an event deleted", []string{"DELETE FROM $EVENTS WHERE position = 700"}, 700, ledger.FaultGap},
		{"the first deleted", []string{"DELETE FROM $EVENTS WHERE position = 1"}, 1, ledger.FaultGap},
		{"an event inserted behind the end", []string{"INSERT INTO $EVENTS SELECT 901, " + row + " WHERE position = 900", "UPDATE head SET position = 901"}, 901, ledger.FaultChain},
		{"an event deleted and another put there", []string{"DELETE FROM $EVENTS WHERE position = 700", "INSERT INTO $EVENTS SELECT 700, " + row + " WHERE position = 701"}, 700, ledger.FaultChain},
		{"two events swapped", []string{"UPDATE $EVENTS SET position = 950 WHERE position = 700", "UPDATE $EVENTS SET position = 700 WHERE position = 701",
			"UPDATE $EVENTS SET position = 701 WHERE position = 950"}, 700, ""},
		{"a kind beyond its kinds", []string{"UPDATE $EVENTS SET kind = kind + 65536 WHERE position = 700"}, 700, ledger.FaultUnreadable},
		{"an attempt beyond its bits", []string{"UPDATE $EVENTS SET attempt = attempt + 4294967296 WHERE position = 700"}, 700, ledger.FaultUnreadable},
		{"a format beyond its bits", []string{"UPDATE $EVENTS SET format = format + 16777216 WHERE position = 700"}, 700, ledger.FaultUnreadable},
		{"times moved", []string{"UPDATE $EVENTS SET recorded_at = recorded_at - 1 WHERE position = 700"}, 700, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			grow(t, s, NewMaker(), 900)
			for _, sql := range c.sql {
				s.Tamper(t, sql)
			}
			v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{})
			switch {
			case err != nil:
				t.Fatal(err)
			case c.at == 0 && v.Fault != nil, c.at != 0 && v.Fault == nil:
				t.Errorf("found %v", v.Fault)
			case c.at != 0 && (v.Fault.Position != c.at || c.kind != "" && v.Fault.Kind != c.kind):
				t.Errorf("found %v, want %s at %d", v.Fault, c.kind, c.at)
			}
		})
	}
	tamperEntries(t, open)
	t.Run("an end cut off with the head set back is found by a checkpoint alone", func(t *testing.T) { cutOff(t, open(t)) })
	t.Run("a rewrite with every hash computed anew is found by a checkpoint alone", func(t *testing.T) { rewritten(t, open(t)) })
}

// tamperEntries is what verification must find in what accounts' events are found by.
func tamperEntries(t *testing.T, open func(t *testing.T) Tamperer) {
	one := " WHERE block = 0 AND account = (SELECT account FROM account_events WHERE block = 0 ORDER BY account DESC LIMIT 1)"
	for _, c := range []struct{ name, sql string }{
		{"accounts that are found as they should", ""},
		{"an account that is not found any more", "DELETE FROM account_events" + one},
		{"a block in which no account is found", "DELETE FROM account_events WHERE block = 0"},
		{"an account of which one event is found", "UPDATE account_events SET offsets = substr(offsets, 1, 2)" + one},
		{"an account of which no event is found", "UPDATE account_events SET offsets = $HEX''" + one},
		{"an account that is found by another's events", "UPDATE account_events SET offsets = (SELECT offsets FROM account_events WHERE block = 0 ORDER BY account DESC LIMIT 1 OFFSET 1)" + one},
		{"an account that nobody has", "INSERT INTO account_events (block, account, offsets) SELECT block, $NOBODY, offsets FROM account_events" + one},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			grow(t, s, NewMaker(), 2*ledger.EntryBlock+700)
			s.Settle(t)
			if c.sql != "" {
				s.Tamper(t, c.sql)
			}
			v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{})
			switch {
			case err != nil:
				t.Fatal(err)
			case c.sql == "" && v.Fault != nil, c.sql != "" && v.Fault == nil:
				t.Errorf("found %v", v.Fault)
			case c.sql != "" && (v.Fault.Position != 1 || v.Fault.Kind != ledger.FaultIndex):
				t.Errorf("found %v", v.Fault)
			}
		})
	}
}

// told verifies a store alone and against a checkpoint.
func told(t *testing.T, s ledger.Store, c checkpoint.Checkpoint, at events.Position) {
	t.Helper()
	if v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{}); err != nil || v.Fault != nil {
		t.Errorf("the chain alone shows nothing, but found %v %v", v.Fault, err)
	}
	v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{Expect: c.Head})
	if err != nil || v.Fault == nil || v.Fault.Position != at || v.Fault.Kind != ledger.FaultHead {
		t.Errorf("with the checkpoint: %v %v, want position %d", v.Fault, err, at)
	}
	if f, err := c.Check(t.Context(), s); err != nil || f == nil || f.Position != at {
		t.Errorf("a look at one row: %v %v", f, err)
	}
}

func take(t *testing.T, s ledger.Store) checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Take(t.Context(), s)
	if err != nil || c.Ledger == uuid.Nil {
		t.Fatal(err)
	}
	return c
}

func cutOff(t *testing.T, s Tamperer) {
	grow(t, s, NewMaker(), 900)
	c := take(t, s)
	s.Tamper(t, "DELETE FROM $EVENTS WHERE position > 800")
	s.Tamper(t, "UPDATE head SET position = 800, recorded_at = (SELECT recorded_at FROM $EVENTS WHERE position = 800), hash = (SELECT hash FROM $EVENTS WHERE position = 800)")
	told(t, s, c, 801)
}

// rewritten changes one event and then computes the chain anew from there, as
// the database's owner can.
func rewritten(t *testing.T, s Tamperer) {
	grow(t, s, NewMaker(), 300)
	c := take(t, s)
	s.Tamper(t, "UPDATE $EVENTS SET attempt = 7 WHERE position = 290")
	rows := all(t, s, 288, ledger.Filter{})
	last := rows[0].Hash
	for i := range rows[1:] {
		r := &rows[1+i]
		r.Hash = events.Chain(last, r.Position, r.RecordedAt, r.ContentHash())
		last = r.Hash
		s.Tamper(t, "UPDATE $EVENTS SET hash = $HEX'"+r.Hash.String()+"' WHERE position = "+positionText(r.Position))
	}
	s.Tamper(t, "UPDATE head SET hash = $HEX'"+last.String()+"'")
	told(t, s, c, 300)
}

func positionText(p events.Position) string { return strconv.FormatUint(uint64(p), 10) }
