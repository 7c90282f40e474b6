package ledger

import (
	"bytes"
	"encoding/binary"

	"github.com/google/uuid"
)

// Recent knows which ids are new without a look into the store: those greater
// than any that is stored, and those that arrive a little out of order.
type Recent struct {
	floor      uuid.UUID // stored ids that are in no generation are at most this
	young, old *generation
}

// generation is some of the newest ids, as numbers that may, rarely, stand for
// others too: then an id that is new is looked up.
type generation struct {
	numbers [4 * generationSize]uint64 // at the place that the number itself says, or behind it; 0: none
	size    int
	most    uuid.UUID // the greatest
}

// generationSize bounds a generation.
const generationSize = 4096

// NewRecent starts with ids of which the greatest is known.
func NewRecent(greatest uuid.UUID) Recent {
	return Recent{floor: greatest, young: new(generation), old: new(generation)}
}

// May says whether an id may be stored; false is certain.
func (r *Recent) May(id uuid.UUID) bool {
	return !after(id, r.floor) || r.young.has(id) || r.old.has(id)
}

// Add notes an id that is stored now.
func (r *Recent) Add(id uuid.UUID) {
	if r.young.size == generationSize {
		if after(r.old.most, r.floor) {
			r.floor = r.old.most
		}
		*r.old = generation{}
		r.old, r.young = r.young, r.old
	}
	r.young.add(id)
}

func (g *generation) has(id uuid.UUID) bool {
	if after(id, g.most) {
		return false
	}
	n := number(id)
	return g.numbers[g.place(n)] == n
}

func (g *generation) add(id uuid.UUID) {
	n := number(id)
	g.numbers[g.place(n)] = n
	g.size++
	if after(id, g.most) {
		g.most = id
	}
}

// place is where a number stands, or would.
func (g *generation) place(n uint64) uint64 {
	for at := n % uint64(len(g.numbers)); ; at = (at + 1) % uint64(len(g.numbers)) {
		if g.numbers[at] == n || g.numbers[at] == 0 {
			return at
		}
	}
}

// number is an id's, never 0. Ids of one process differ in their last bits or in
// their first ones, which are a time.
func number(id uuid.UUID) uint64 {
	const odd = 0x9e3779b97f4a7c15
	n := (binary.BigEndian.Uint64(id[:8])*odd ^ binary.BigEndian.Uint64(id[8:])) * odd
	return max(n^n>>32, 1)
}

func after(a, b uuid.UUID) bool { return bytes.Compare(a[:], b[:]) > 0 }
