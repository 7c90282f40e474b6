package ledger_test

import (
	"context"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// lookups counts the scans of a store.
type lookups struct {
	*ledgertest.Memory
	n int
}

func (s *lookups) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	s.n++
	return s.Memory.Scan(ctx, after, f, limit, fn)
}

func TestAHashIsLookedUpOnceAndOneThatIsNotThereIsNotRemembered(t *testing.T) {
	s := &lookups{Memory: ledgertest.NewMemory()}
	log := ledger.Open(s)
	defer log.Close()
	made := ledgertest.NewMaker()
	placed, err := s.Commit(t.Context(), made.Records(3))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if hash, ok, err := log.HashAt(t.Context(), 2); err != nil || !ok || hash != placed[1].Hash {
			t.Fatalf("%v %v %v, want %v", hash, ok, err, placed[1].Hash)
		}
	}
	if s.n != 1 {
		t.Errorf("it was looked up %d times", s.n)
	}
	for _, at := range []events.Position{0, 4} {
		if _, ok, err := log.HashAt(t.Context(), at); ok || err != nil {
			t.Errorf("there is a hash at %d, %v", at, err)
		}
	}
	if placed, err = s.Commit(t.Context(), made.Records(1)); err != nil {
		t.Fatal(err)
	}
	if hash, ok, _ := log.HashAt(t.Context(), 4); !ok || hash != placed[0].Hash {
		t.Errorf("what was appended meanwhile is not found")
	}
}
