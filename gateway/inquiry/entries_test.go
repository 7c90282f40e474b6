package inquiry_test

import (
	"path/filepath"
	"testing"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
)

// TestAnAccountThatIsNotFoundAnyMoreIsAFault: the events are whole, and what
// finds those of an account is not. It is said of any block, also of the last.
func TestAnAccountThatIsNotFoundAnyMoreIsAFault(t *testing.T) {
	for _, block := range []events.Position{0, 1} {
		path := filepath.Join(t.TempDir(), "waybill.db")
		store, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		log := ledger.Open(store)
		for g, n := ledgertest.NewMaker(), 0; n < 2*ledger.EntryBlock+100; n += 100 {
			drafts := g.Drafts(100)
			for i := range drafts {
				drafts[i].Data = &events.OperatorReleased{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "none"}}
			}
			if _, err := log.Append(t.Context(), drafts...); err != nil {
				t.Fatal(err)
			}
		}
		for _, damaged := range []bool{false, true} {
			v, err := inquiry.Verify(t.Context(), log, inquiry.VerifyOptions{})
			switch f := v.Fault; {
			case err != nil:
				t.Fatal(err)
			case !damaged && !v.OK, damaged && (v.OK || f.Position != block*ledger.EntryBlock+1 || f.Kind != ledger.FaultIndex):
				t.Errorf("block %d, damaged %v: %+v", block, damaged, f)
			}
			if !damaged {
				forget(t, path, int64(block))
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// forget removes one account's entry.
func forget(t *testing.T, path string, block int64) {
	t.Helper()
	c, err := zs.OpenConn(path, zs.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sqlitex.ExecuteTransient(c, "DROP TRIGGER account_events_no_delete", nil); err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteTransient(c, "DELETE FROM account_events WHERE account = 3 AND block = ?", &sqlitex.ExecOptions{Args: []any{block}})
	if err != nil || c.Changes() != 1 {
		t.Fatalf("%d rows, %v", c.Changes(), err)
	}
}
