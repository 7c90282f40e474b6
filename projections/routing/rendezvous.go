package routing

import (
	"math/bits"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// Weighted rendezvous hashing without floats: each candidate draws u in (0, 1]
// from a hash of the key and its own id, and the greatest w / -log2(u) wins.
// Then a candidate wins with a probability in proportion to its weight, and a
// change of one candidate moves only keys from or to it. The logarithm is a
// table with linear interpolation in 32 bits of fraction, and scores are
// compared as products of 128 bits, so every machine chooses alike.

// rendezvousKey is what the choice is a hash of: the session, else the request.
func rendezvousKey(s *events.Stamp, request uuid.UUID) [2]uint64 {
	if !s.Session.IsZero() {
		return halves(s.Session)
	}
	return halves(events.Digest(request))
}

// draw hashes a key and a candidate's seed to 64 even bits.
func draw(key, seed [2]uint64) uint64 {
	hi, lo := bits.Mul64(key[0]^seed[0]^0x9e3779b97f4a7c15, key[1]^seed[1]^0xe7037ed1a0b428db)
	h := (hi ^ lo) + key[0]
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// rarity is -log2((h+1) / 2^64) in units of 2^-32, at least 1: an exponential
// draw. A greater hash is rarer.
func rarity(h uint64) uint64 {
	if h == 1<<64-1 {
		return 1
	}
	x := h + 1
	shift := bits.LeadingZeros64(x)
	x <<= shift // 1 and a fraction of 63 bits
	cell := x >> 55 & 0xff
	part := x >> 23 & 0xffffffff
	from, to := log2Table[cell], log2Table[cell+1]
	frac := from + (to-from)*part>>32
	return max(uint64(shift+1)<<32-frac, 1)
}

// beats says whether weight w with rarity r outranks weight v with rarity q:
// w/r > v/q. Equal scores are decided by whoever stood first.
func beats(w int64, r uint64, v int64, q uint64) bool {
	ah, al := bits.Mul64(uint64(w), q)
	bh, bl := bits.Mul64(uint64(v), r)
	return ah > bh || ah == bh && al > bl
}

// log2Table holds log2(1 + i/256) in units of 2^-32. It is never changed.
var log2Table = newLog2Table()

// newLog2Table takes logarithms bit by bit: squaring a number doubles its
// logarithm, and whenever the square reaches 2 the next bit is set.
func newLog2Table() (t [257]uint64) {
	for i := range uint64(256) {
		x := 1<<62 + i<<54 // 1 and a fraction of 62 bits
		for bit := uint64(1 << 31); bit > 0; bit >>= 1 {
			hi, lo := bits.Mul64(x, x)
			x = hi<<2 | lo>>62
			if x >= 1<<63 {
				x >>= 1
				t[i] |= bit
			}
		}
	}
	t[256] = 1 << 32
	return t
}
