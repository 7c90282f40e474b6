package postgres_test

import (
	"errors"
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
