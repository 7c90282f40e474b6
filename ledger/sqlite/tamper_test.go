package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/ledger/ledgertest"
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
		{"a row written over by REPLACE", "REPLACE INTO events SELECT 700, recorded_at, observed_at, x'01', writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash FROM events WHERE position = 700", 700, ledger.FaultUnreadable},
		{"a byte behind a hash", "UPDATE events SET hash = CAST(hash || x'78' AS BLOB) WHERE position = 700", 700, ledger.FaultUnreadable},
		{"a byte behind an id", "UPDATE events SET id = CAST(id || x'78' AS BLOB) WHERE position = 700", 700, ledger.FaultUnreadable},
		{"a byte behind a request", "UPDATE events SET request = CAST(coalesce(request, zeroblob(16)) || x'78' AS BLOB) WHERE position = 700", 700, ledger.FaultUnreadable},
		{"a request of zeros", "UPDATE events SET request = zeroblob(16) WHERE position = 700", 700, ledger.FaultUnreadable},
		{"an empty request", "UPDATE events SET request = x'' WHERE position = 700", 700, ledger.FaultUnreadable},
		{"an account without a name", "UPDATE events SET account = 999 WHERE position = 700", 700, ledger.FaultUnreadable},
		{"a model without a name", "UPDATE events SET model = 999 WHERE position = 700", 700, ledger.FaultUnreadable},
		{"a writer without a name", "UPDATE events SET writer = 999 WHERE position = 700", 700, ledger.FaultUnreadable},
		{"a writer with a longer name", "DROP TRIGGER writers_no_update; UPDATE writers SET name = CAST(name || x'78' AS BLOB)", 0, ledger.FaultUnreadable},
		{"a row added at the end", "INSERT INTO events SELECT 1001, recorded_at + 9, observed_at, x'01', writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash FROM events WHERE position = 1000", 1001, ledger.FaultUnreadable},
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

// owned is a store whose file somebody else may write.
type owned struct {
	*sqlite.Store
	path string
}

// Tamper implements ledgertest.Tamperer. There is no table head: the end is
// where the rows end.
func (o owned) Tamper(t *testing.T, sql string) {
	t.Helper()
	if strings.Contains(sql, "UPDATE head") {
		return
	}
	c, err := zs.OpenConn(o.path, zs.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sql = strings.NewReplacer("$EVENTS", "events", "$ID", "randomblob(16)", "$HEX'", "x'", "$NOBODY", "999").Replace(sql)
	if err := sqlitex.ExecuteScript(c, "DROP TRIGGER IF EXISTS events_no_update; DROP TRIGGER IF EXISTS events_no_delete;"+
		"DROP TRIGGER IF EXISTS account_events_no_update; DROP TRIGGER IF EXISTS account_events_no_delete;"+sql, nil); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Settle implements ledgertest.Tamperer: a commit that ends a block enters it.
func (o owned) Settle(*testing.T) {}

// Head is asked anew: the store remembers its own.
func (o owned) Head(ctx context.Context) (ledger.Head, error) {
	r, err := sqlite.OpenReader(o.path)
	if err != nil {
		return ledger.Head{}, err
	}
	defer r.Close()
	return r.Head(ctx)
}

func TestVerifyFindsWhateverItsOwnerDid(t *testing.T) {
	ledgertest.RunTamper(t, func(t *testing.T) ledgertest.Tamperer {
		path := filepath.Join(t.TempDir(), "waybill.db")
		s := mustOpen(t, path)
		t.Cleanup(func() { s.Close() })
		return owned{s, path}
	})
}

func TestOnlyWhatIsArchivedMayBeDeleted(t *testing.T) {
	path := filled(t, 1000)
	s := mustOpen(t, path)
	if _, err := archive.Run(t.Context(), s, archive.Options{Dir: t.TempDir(), Size: 100, To: 300, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	c, err := zs.OpenConn(path, zs.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, sql := range []string{
		"DELETE FROM events WHERE position = 301", "DELETE FROM events", "UPDATE events SET attempt = 1 WHERE position = 301", "DELETE FROM account_events",
		"DELETE FROM archived", "UPDATE archived SET last = 900 WHERE first = 201",
		"INSERT INTO archived SELECT 301, 900, ledger, before, 0, 0, hash, path, digest, 0, 0 FROM archived WHERE first = 1",
		"INSERT INTO archived SELECT 301, 1000, ledger, before, 0, e.recorded_at, e.hash, path, digest, 0, 0 FROM archived, events e WHERE first = 1 AND e.position = 1000",
		"INSERT OR REPLACE INTO archived SELECT 201, 900, ledger, before, 0, e.recorded_at, e.hash, path, digest, 0, 0 FROM archived, events e WHERE first = 201 AND e.position = 900",
	} {
		if err := sqlitex.ExecuteTransient(c, sql, nil); err == nil && c.Changes() > 0 {
			t.Errorf("%s: it was done", sql)
		}
	}
}

func TestARowBeforeTheFirstIsNamed(t *testing.T) {
	path := filled(t, 20)
	for _, want := range []bool{false, true} {
		r, err := sqlite.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ledger.Stray(t.Context(), r)
		r.Close()
		if err != nil || (f != nil) != want {
			t.Errorf("%v %v", f, err)
		}
		if !want {
			tamper(t, path, "INSERT INTO events SELECT -7, recorded_at, observed_at, randomblob(16), writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash FROM events WHERE position = 20")
		}
	}
}

// TestNothingIsAppendedBehindARowOfSomebodyElse: neither at once nor after the
// connection was opened anew.
func TestNothingIsAppendedBehindARowOfSomebodyElse(t *testing.T) {
	for name, at := range map[string]int{"next": 11, "further on": 60} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "w.db")
			s, g := mustOpen(t, path), ledgertest.NewMaker()
			defer s.Close()
			if _, err := s.Commit(t.Context(), g.Records(10)); err != nil {
				t.Fatal(err)
			}
			tamper(t, path, fmt.Sprintf("INSERT INTO events SELECT %d, recorded_at, observed_at, randomblob(16), writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash FROM events WHERE position = 10", at))
			for try := range 3 {
				if _, err := s.Commit(t.Context(), g.Records(1)); !errors.Is(err, ledger.ErrBroken) {
					t.Errorf("try %d: %v", try, err)
				}
			}
		})
	}
}
