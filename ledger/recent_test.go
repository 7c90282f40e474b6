package ledger_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/ledger"
)

// TestAnIdThatIsStoredIsNeverTakenForNew: against a plain map, over ids that grow,
// come late and come again.
func TestAnIdThatIsStoredIsNeverTakenForNew(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	number := func(n uint64) (id uuid.UUID) {
		binary.BigEndian.PutUint64(id[:], n)
		return id
	}
	stored := map[uuid.UUID]bool{number(100): true}
	r := ledger.NewRecent(number(100))
	looked := 0
	for n := uint64(101); n < 40_000; n++ {
		id := number(n*10 - rnd.Uint64N(200)) // a little out of order
		if rnd.IntN(50) == 0 {
			id = number(rnd.Uint64N(n * 10)) // anything
		}
		switch may := r.May(id); {
		case stored[id] && !may:
			t.Fatalf("%s is stored and was taken for new", id)
		case may && !stored[id]:
			looked++
		}
		if !stored[id] {
			stored[id] = true
			r.Add(id)
		}
	}
	if limit := 40_000 / 25; looked > limit {
		t.Errorf("%d new ids would have been looked up, at most %d are old enough", looked, limit)
	}
}
