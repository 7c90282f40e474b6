package requests

import (
	"math/rand/v2"
	"testing"
)

func TestMarksAgreeWithASet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var m marks
	m.begin(40)
	m.round = 1<<32 - 1
	m.begin(40) // it comes round
	if !m.first(7) {
		t.Fatal("7 was met before it was")
	}
	for range 60 {
		most := rnd.IntN(40)
		m.begin(most)
		met := map[uint32]bool{}
		for range 50 {
			no := uint32(rnd.IntN(60)) // some beyond what is expected
			if m.first(no) == met[no] {
				t.Fatalf("%d of at most %d was met: %v", no, most, met[no])
			}
			met[no] = true
		}
	}
}
