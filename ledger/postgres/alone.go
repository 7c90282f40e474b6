package postgres

import (
	"bytes"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// aloneAfter is how many commits in a row find the head where this process left
// it before the process counts on being the only one that appends.
const aloneAfter = 8

// alone is what a process knows while no other appends: then an id greater than
// the greatest one stored is new, and need not be looked up. The zero one knows
// nothing. That it still holds is seen under the lock, by the head.
type alone struct {
	at       events.Position // of the head after the last commit of this process
	commits  int             // in a row that found the head there
	sure     bool            // greatest is the greatest id stored up to at
	greatest uuid.UUID
}

// fresh says that none of the batch's ids can be stored, if the head is still
// where it was.
func (k *alone) fresh(batch []events.Record) bool {
	return k.sure && bytes.Compare(batch[0].ID[:], k.greatest[:]) > 0 && ascending(batch)
}

// asks says whether the greatest id is worth asking for.
func (k *alone) asks() bool { return !k.sure && k.commits >= aloneAfter }

// learn takes the answer, read under the lock.
func (k *alone) learn(rows [][][]byte) {
	k.sure, k.greatest = true, uuid.Nil
	if len(rows) == 1 {
		copy(k.greatest[:], rows[0][0])
	}
}

// committed notes where a commit found the head and where it left it.
func (k *alone) committed(found, left events.Position, batch []events.Record) {
	if k.commits == 0 || found != k.at {
		*k = alone{at: left, commits: 1}
		return
	}
	k.at = left
	k.commits++
	for i := range batch {
		if bytes.Compare(batch[i].ID[:], k.greatest[:]) > 0 {
			k.greatest = batch[i].ID
		}
	}
}
