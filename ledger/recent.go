package ledger

import (
	"bytes"

	"github.com/google/uuid"
)

// Recent knows which ids are new without a look into the store: those greater
// than any that is stored, and those that arrive a little out of order.
type Recent struct {
	floor      uuid.UUID // stored ids that are in no generation are at most this
	young, old generation
}

// generation is some of the newest ids. They are mapped when the first of them
// comes late: as a rule none does.
type generation struct {
	ids    []uuid.UUID
	mapped map[uuid.UUID]struct{} // ids, but for the newest of them
	most   uuid.UUID              // the greatest
}

// generationSize bounds a generation.
const generationSize = 4096

// NewRecent starts with ids of which the greatest is known.
func NewRecent(greatest uuid.UUID) Recent {
	return Recent{floor: greatest, young: newGeneration(), old: newGeneration()}
}

func newGeneration() generation { return generation{mapped: map[uuid.UUID]struct{}{}} }

// May says whether an id may be stored; false is certain.
func (r *Recent) May(id uuid.UUID) bool {
	return !after(id, r.floor) || r.young.has(id) || r.old.has(id)
}

func (g *generation) has(id uuid.UUID) bool {
	if after(id, g.most) {
		return false
	}
	for _, id := range g.ids[len(g.mapped):] {
		g.mapped[id] = struct{}{}
	}
	_, ok := g.mapped[id]
	return ok
}

// Add notes an id that is stored now.
func (r *Recent) Add(id uuid.UUID) {
	if len(r.young.ids) == generationSize {
		if after(r.old.most, r.floor) {
			r.floor = r.old.most
		}
		r.old, r.young = r.young, r.old
		r.young.clear()
	}
	r.young.ids = append(r.young.ids, id)
	if after(id, r.young.most) {
		r.young.most = id
	}
}

func (g *generation) clear() {
	g.ids, g.most = g.ids[:0], uuid.Nil
	clear(g.mapped)
}

func after(a, b uuid.UUID) bool { return bytes.Compare(a[:], b[:]) > 0 }
