package sqlite_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
)

// TestAReaderSeesEachCommitWhole: what a commit gathers is in the file before any
// other connection can know of it, also where the commit is larger than what is
// gathered at once, than the page cache, and than the log.
func TestAReaderSeesEachCommitWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waybill.db")
	s := mustOpen(t, path)
	defer s.Close()
	g := ledgertest.NewMaker()
	if _, err := s.Commit(t.Context(), g.Records(1)); err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, size := range []int{1, 2, 60, 300, 1000, 1, 100, 100, 64, 65, 7} {
		batch := g.Records(size)
		if i%2 == 1 {
			for k := range batch {
				batch[k].Kind = 60_000 // unknown, so any payload will do
				batch[k].Payload = bytes.Repeat([]byte{byte(k), byte(i)}, 50_000/(1+k%40))
			}
		}
		res, err := s.Commit(t.Context(), batch)
		if err != nil {
			t.Fatalf("%d events: %v", size, err)
		}
		h, err := r.Head(t.Context())
		if last := res[size-1]; err != nil || h.Position != last.Position || h.Hash != last.Hash {
			t.Fatalf("a reader sees head %d after %d was committed: %v", h.Position, last.Position, err)
		}
		if v, err := ledger.Verify(t.Context(), r, ledger.VerifyOptions{}); err != nil || v.Fault != nil {
			t.Fatalf("after %d events: %v %v", size, v.Fault, err)
		}
	}
}
