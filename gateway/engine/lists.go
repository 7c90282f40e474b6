package engine

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/waybill/waybill/events"
)

// maxLists bounds the lists that are remembered for reuse.
const maxLists = 64

// lists remembers the newest candidates.listed of this process, so that an
// equal list is referred to instead of stored again.
type lists struct {
	seed  maphash.Seed
	known map[uint64]*list
	order []uint64 // oldest first
}

type list struct {
	verdicts []events.Verdict
	seq      uint64 // own number of the event that holds it
	ref      events.Ref
}

// find is the reference of an equal list, 0 when there is none.
func (l *lists) find(v []events.Verdict) (ref events.Ref, key uint64) {
	if l.known == nil {
		l.seed, l.known = maphash.MakeSeed(), map[uint64]*list{}
	}
	key = l.hash(v)
	if k := l.known[key]; k != nil && slices.Equal(k.verdicts, v) {
		return k.ref, key
	}
	return 0, key
}

func (l *lists) add(key uint64, v []events.Verdict, seq uint64) {
	if _, ok := l.known[key]; !ok {
		l.order = append(l.order, key)
	}
	l.known[key] = &list{verdicts: v, seq: seq, ref: -events.Ref(seq)}
	if len(l.order) > maxLists {
		delete(l.known, l.order[0])
		l.order = slices.Delete(l.order, 0, 1)
	}
}

// committed turns references by number into references by position.
func (l *lists) committed(seq uint64, at events.Position) {
	for _, k := range l.known {
		if k.seq == seq {
			k.ref = events.Ref(at)
		}
	}
}

func (l *lists) hash(v []events.Verdict) uint64 {
	var h maphash.Hash
	h.SetSeed(l.seed)
	var b [13]byte
	for _, x := range v {
		binary.LittleEndian.PutUint32(b[:], x.Account)
		b[4] = byte(x.Reason)
		binary.LittleEndian.PutUint64(b[5:], uint64(x.Evidence))
		h.Write(b[:])
	}
	return h.Sum64()
}
