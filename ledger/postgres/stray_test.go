package postgres_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	server "github.com/waybill/waybill/test/postgres"
)

func TestARowBehindTheHeadIsNamedAndNotWaitedFor(t *testing.T) {
	o := postgres.Options{URL: server.URL(t), Schema: server.Schema()}
	s, g := mustOpen(t, o), ledgertest.NewMaker()
	defer s.Close()
	if _, err := s.Commit(t.Context(), g.Records(10)); err != nil {
		t.Fatal(err)
	}
	if f, err := ledger.Stray(t.Context(), s); f != nil || err != nil {
		t.Fatalf("%v %v", f, err)
	}
	exec(t, connect(t, o.Schema), `INSERT INTO events SELECT 12, recorded_at, observed_at, gen_random_uuid(), writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash FROM events WHERE position = 10`)
	if f, err := ledger.Stray(t.Context(), s); err != nil || f == nil || f.Position != 12 || f.Kind != ledger.FaultHead {
		t.Errorf("%v %v", f, err)
	}
	if _, err := s.Commit(t.Context(), g.Records(1)); err != nil {
		t.Errorf("a free position is taken: %v", err)
	}
	if _, err := s.Commit(t.Context(), g.Records(1)); !errors.Is(err, ledger.ErrBroken) || errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("it will not pass: %v", err)
	}
}

// TestARowThatNoAppendWroteIsNoOutage: whoever waits for it to pass waits for ever.
func TestARowThatNoAppendWroteIsNoOutage(t *testing.T) {
	o := postgres.Options{URL: server.URL(t), Schema: server.Schema()}
	s, g := mustOpen(t, o), ledgertest.NewMaker()
	defer s.Close()
	if _, err := s.Commit(t.Context(), g.Records(10)); err != nil {
		t.Fatal(err)
	}
	c := connect(t, o.Schema)
	exec(t, c, "ALTER TABLE events_1 DISABLE TRIGGER USER")
	exec(t, c, "UPDATE events_1 SET account = '' WHERE position = 7")
	err := s.Scan(t.Context(), 0, ledger.Filter{}, 0, func(*ledger.Row) error { return nil })
	if !errors.Is(err, ledger.ErrBroken) || errors.Is(err, ledger.ErrUnavailable) {
		t.Error(err)
	}
}

// TestALongAccountIsFoundWithoutAnEntry: and the entries of all others go on.
func TestALongAccountIsFoundWithoutAnEntry(t *testing.T) {
	o := postgres.Options{URL: server.URL(t), Schema: server.Schema()}
	s, g := mustOpen(t, o), ledgertest.NewMaker()
	defer s.Close()
	var long [3000]byte
	rand.NewChaCha8([32]byte{}).Read(long[:])
	for i := range 5 {
		batch := g.Records(1000)
		batch[i].Account = string(long[:])
		if _, err := s.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	c := connect(t, o.Schema)
	var reach *int64
	for reach == nil { // the store may be at it
		if err := c.QueryRow(t.Context(), "SELECT index_accounts(9)").Scan(&reach); err != nil {
			t.Fatal(err)
		}
	}
	if *reach != ledger.EntryBlock {
		t.Errorf("entries reach %d", *reach)
	}
	n := 0
	err := s.Scan(t.Context(), 0, ledger.Filter{Account: string(long[:])}, 0, func(*ledger.Row) error { n++; return nil })
	if err != nil || n != 5 {
		t.Errorf("%d of 5 events: %v", n, err)
	}
	if v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{}); err != nil || v.Fault != nil {
		t.Errorf("%v %v", v.Fault, err)
	}
}
