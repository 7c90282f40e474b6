package engine

import (
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// IDs makes UUIDv7 without asking the kernel each time: 48 bits of
// milliseconds, a 12-bit counter that keeps one process's ids in order, and 62
// bits of ChaCha8 seeded by the kernel.
type IDs struct {
	mu  sync.Mutex
	src *rand.ChaCha8
	ms  uint64
	n   uint64
}

// NewIDs seeds a source of ids.
func NewIDs() *IDs {
	var seed [32]byte
	crand.Read(seed[:]) // never fails since Go 1.24: it crashes the program instead
	return &IDs{src: rand.NewChaCha8(seed)}
}

// Next is a new id, greater than every one before it.
func (s *IDs) Next(now events.Time) uuid.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ms := uint64(now) / 1000; ms > s.ms {
		s.ms, s.n = ms, 0
	} else if s.n++; s.n > 0xfff {
		s.ms, s.n = s.ms+1, 0
	}
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], s.ms<<16|7<<12|s.n)
	binary.BigEndian.PutUint64(id[8:], s.src.Uint64()>>2|1<<63)
	return id
}

// SeededIDs is a source that a test can repeat; two of one seed give the same
// ids, so it is for nothing else.
func SeededIDs(seed uint64) *IDs {
	var s [32]byte
	binary.BigEndian.PutUint64(s[:], seed)
	return &IDs{src: rand.NewChaCha8(s)}
}
