package postgres_test

import (
	"testing"
	"time"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	server "github.com/waybill/waybill/test/postgres"
)

// A segment leaves in two transactions. The server may end between them: its
// rows are archived then, no longer in the table, and not gone.
func TestASegmentThatLeftHalfWayIsFinishedByTheNextRun(t *testing.T) {
	schema := server.Schema()
	s := mustOpen(t, postgres.Options{Schema: schema, Segment: ledgertest.SegmentSize})
	defer s.Close()
	g := ledgertest.NewMaker()
	for range 11 {
		if _, err := s.Commit(t.Context(), g.Records(100)); err != nil {
			t.Fatal(err)
		}
	}
	o := archive.Options{Dir: t.TempDir(), Size: ledgertest.SegmentSize, Now: time.Now, To: 500}
	whole := archive.Over(s, archive.NewPast(o.Dir))
	intact := func(when string, n uint64) {
		t.Helper()
		if v, err := ledger.Verify(t.Context(), whole, ledger.VerifyOptions{}); err != nil || v.Fault != nil || v.Positions != n {
			t.Fatalf("%s: %+v %v", when, v, err)
		}
	}
	reading := connect(t, schema)
	exec(t, reading, "BEGIN")
	exec(t, reading, "SELECT count(*) FROM events") // the segment waits for whoever reads it
	ended := make(chan error, 1)
	go func() {
		_, err := archive.Run(t.Context(), s, o)
		ended <- err
	}()
	admin := connect(t, schema)
	for killed := int64(0); killed == 0; time.Sleep(5 * time.Millisecond) { // nothing signals what another connection does
		select {
		case err := <-ended:
			t.Fatalf("it ended before its time: %v", err)
		default:
		}
		tag, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE query LIKE '%DETACH PARTITION%' AND pid <> pg_backend_pid() AND EXISTS (SELECT FROM segments WHERE leaving)`)
		if err != nil {
			t.Fatal(err)
		}
		killed = tag.RowsAffected()
	}
	if err := <-ended; err == nil {
		t.Fatal("it did not notice")
	}
	exec(t, reading, "ROLLBACK")
	intact("half way", 1100)
	if _, err := s.Commit(t.Context(), g.Records(1)); err != nil {
		t.Fatalf("append: %v", err)
	}
	if _, err := archive.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Layout(t.Context(), 0); err != nil || l.Anchor().Position != 500 || len(l.Whole) != 1 {
		t.Errorf("%+v %v", l, err)
	}
	intact("finished", 1101)
}
