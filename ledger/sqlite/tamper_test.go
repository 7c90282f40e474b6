package sqlite_test

import (
	"testing"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/sqlite"
)

// tamper does what somebody with the file could do.
func tamper(t *testing.T, path string, script string) {
	t.Helper()
	c, err := zs.OpenConn(path, zs.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	drop := "DROP TRIGGER events_no_update; DROP TRIGGER events_no_delete; DROP TRIGGER accounts_no_update;"
	if err := sqlitex.ExecuteScript(c, drop+script, nil); err != nil {
		t.Fatal(err)
	}
}

func verify(t *testing.T, path string, o ledger.VerifyOptions) ledger.Verified {
	t.Helper()
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v, err := ledger.Verify(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerifyFindsWhateverWasDoneToTheFile(t *testing.T) {
	for _, c := range []struct {
		name, script string
		at           events.Position
		kind         string
	}{
		{"nothing", "", 0, ""},
		{"one byte of a payload changed", "UPDATE events SET payload = CAST(x'00' || substr(payload, 2) AS BLOB) WHERE position = 700", 700, ledger.FaultChain},
		{"a hash changed", "UPDATE events SET hash = zeroblob(32) WHERE position = 700", 700, ledger.FaultChain},
		{"another account", "UPDATE events SET account = account % 3 + 1 WHERE position = 700", 700, ledger.FaultChain},
		{"an account renamed", "UPDATE accounts SET name = 'innocent' WHERE id = (SELECT account FROM events WHERE position = 9)", 0, ledger.FaultChain},
		{"another time of the fact", "UPDATE events SET observed_at = observed_at + 1 WHERE position = 1", 1, ledger.FaultChain},
		{"another time of recording", "UPDATE events SET recorded_at = recorded_at + 1 WHERE position = 1000", 1000, ledger.FaultChain},
		{"a row removed", "DELETE FROM events WHERE position = 700", 700, ledger.FaultGap},
		{"the first row removed", "DELETE FROM events WHERE position = 1", 1, ledger.FaultGap},
		{"two rows swapped", `UPDATE events SET position = -1 WHERE position = 700;
			UPDATE events SET position = 700 WHERE position = 701; UPDATE events SET position = 701 WHERE position = -1`, 700, ""},
		{"a row written over by REPLACE", "REPLACE INTO events SELECT 700, recorded_at, observed_at, x'01', writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash FROM events WHERE position = 700", 700, ledger.FaultChain},
		{"a row added at the end", "INSERT INTO events SELECT 1001, recorded_at + 9, observed_at, x'01', writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash FROM events WHERE position = 1000", 1001, ledger.FaultChain},
		{"a payload that cannot be read", "UPDATE events SET payload = x'ff' WHERE position = 1000", 1000, ledger.FaultChain},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filled(t, 1000)
			tamper(t, path, c.script)
			v := verify(t, path, ledger.VerifyOptions{})
			switch {
			case c.script == "":
				if v.Fault != nil || v.Positions != 1000 || v.Head.Position != 1000 {
					t.Errorf("%+v", v)
				}
			case v.Fault == nil:
				t.Error("nothing was found")
			case c.at != 0 && v.Fault.Position != c.at, c.kind != "" && v.Fault.Kind != c.kind:
				t.Errorf("found %v, want %s at %d", v.Fault, c.kind, c.at)
			}
		})
	}
}

func TestACutOffEndIsFoundByAnOlderHead(t *testing.T) {
	path := filled(t, 1000)
	head := verify(t, path, ledger.VerifyOptions{}).Head
	tamper(t, path, "DELETE FROM events WHERE position > 990")
	if v := verify(t, path, ledger.VerifyOptions{}); v.Fault != nil {
		t.Errorf("alone it is a shorter ledger: %v", v.Fault)
	}
	if v := verify(t, path, ledger.VerifyOptions{Expect: head}); v.Fault == nil || v.Fault.Position != 991 {
		t.Errorf("found %v", v.Fault)
	}
}

func TestARewriteIsFoundByAnOlderHead(t *testing.T) {
	one, other := filled(t, 10), filled(t, 20) // the other is right in itself
	v := verify(t, other, ledger.VerifyOptions{Expect: verify(t, one, ledger.VerifyOptions{}).Head})
	if v.Fault == nil || v.Fault.Position != 10 || v.Fault.Kind != ledger.FaultHead {
		t.Errorf("found %v", v.Fault)
	}
}

func TestVerifyFromAPosition(t *testing.T) {
	path := filled(t, 1000)
	tamper(t, path, "UPDATE events SET attempt = 9 WHERE position = 700")
	for from, want := range map[events.Position]events.Position{1: 700, 2: 700, 699: 700, 700: 700, 701: 0, 1000: 0, 1001: 0} {
		v := verify(t, path, ledger.VerifyOptions{From: from})
		if got := v.Fault; (got == nil) != (want == 0) || got != nil && got.Position != want {
			t.Errorf("from %d: %v", from, v.Fault)
		}
		if v.Fault == nil && v.Positions != uint64(1001-from) {
			t.Errorf("from %d: %d positions", from, v.Positions)
		}
	}
}

func TestAnUnreadablePayloadIsAFaultOfItsOwn(t *testing.T) {
	s := mustOpen(t, t.TempDir()+"/waybill.db")
	defer s.Close()
	bad := events.Record{Kind: events.KindGatewayStarted, Version: 1, Codec: events.CodecWire, Payload: []byte{0xff}}
	if _, err := s.Commit(t.Context(), []events.Record{bad}); err != nil {
		t.Fatal(err)
	}
	v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{})
	if err != nil || v.Fault == nil || v.Fault.Kind != ledger.FaultUnreadable || v.Fault.Position != 1 {
		t.Errorf("%+v %v", v.Fault, err)
	}
}
