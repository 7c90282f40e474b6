// Package listed remembers the newest candidates.listed events, so that the
// decisions that refer to one are told with their candidates. A reference is a
// position, or minus the writer's own number of a list that was pending.
package listed

import (
	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/canon"
)

// Book holds lists in a ring. It is not safe for concurrent use.
type Book struct {
	keep  int
	ring  []list
	next  int
	at    map[events.Position]int
	owned map[own]int
}

type list struct {
	at       events.Position
	own      own
	verdicts []events.Verdict
}

type own struct {
	writer uuid.UUID
	seq    uint64
}

// New holds the newest keep lists.
func New(keep int) *Book {
	return &Book{keep: keep, at: map[events.Position]int{}, owned: map[own]int{}}
}

// Add takes a list that stands at an event. The verdicts are kept.
func (b *Book) Add(e *events.Event, verdicts []events.Verdict) {
	b.add(list{e.Position, own{e.Writer, e.WriterSeq}, verdicts})
}

func (b *Book) add(l list) {
	if len(b.ring) < b.keep {
		b.ring = append(b.ring, l)
		b.index(len(b.ring) - 1)
		return
	}
	old := &b.ring[b.next]
	delete(b.at, old.at)
	delete(b.owned, old.own)
	*old = l
	b.index(b.next)
	b.next = (b.next + 1) % b.keep
}

func (b *Book) index(i int) { b.at[b.ring[i].at], b.owned[b.ring[i].own] = i, i }

// Find is the list that an event of this writer refers to.
func (b *Book) Find(writer uuid.UUID, ref events.Ref) ([]events.Verdict, bool) {
	i, ok := b.at[events.Position(ref)]
	if ref < 0 {
		i, ok = b.owned[own{writer, uint64(-ref)}]
	}
	if !ok {
		return nil, false
	}
	return b.ring[i].verdicts, true
}

// Whole is the list of an event's decision: its own, or the stored one that it
// refers to; nil when that is not remembered any more.
func (b *Book) Whole(e *events.Event, own []events.Verdict, ref events.Ref) []events.Verdict {
	if ref == 0 {
		return own
	}
	stored, _ := b.Find(e.Writer, ref)
	return stored
}

// State writes or reads the book, oldest list first.
func (b *Book) State(c *canon.Coder) {
	var lists []list
	if !c.Reading() {
		lists = append(append(lists, b.ring[b.next:]...), b.ring[:b.next]...)
	}
	canon.Slice(c, &lists, func(c *canon.Coder, l *list) {
		canon.Uint(c, &l.at)
		c.Fixed(l.own.writer[:])
		canon.Uint(c, &l.own.seq)
		canon.Slice(c, &l.verdicts, verdict)
	})
	if c.Reading() {
		*b = *New(b.keep)
		for _, l := range lists {
			b.add(l)
		}
	}
}

func verdict(c *canon.Coder, v *events.Verdict) {
	canon.Uint(c, &v.Account)
	canon.Uint(c, &v.Reason)
	canon.Int(c, &v.Evidence)
}
