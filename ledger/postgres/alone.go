package postgres

import (
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// aloneAfter is how many commits in a row find the head where this process left
// it before the process counts on being the only one that appends.
const aloneAfter = 8

// alone is what a process knows while no other appends: where the head is, and
// which ids are new without a look. The zero one knows nothing. That it still holds
// is seen under the lock, by the head.
type alone struct {
	head    ledger.Head // after the last commit of this process
	commits int         // in a row that found the head there
	sure    bool        // ids knows all that are stored up to head
	ids     ledger.Recent
	clock   carried
}

// note takes a batch's ids for stored, which they are after its commit, and says
// whether all of them are new, if the head is still where it was.
func (k *alone) note(batch []events.Record) bool {
	if !k.sure {
		return false
	}
	fresh := true
	for i := range batch {
		fresh = fresh && !k.ids.May(batch[i].ID)
		k.ids.Add(batch[i].ID)
	}
	return fresh
}

// asks says whether the greatest id is worth asking for.
func (k *alone) asks() bool { return !k.sure && k.commits >= aloneAfter }

// learn takes the answer, read under the lock by the commit of a batch.
func (k *alone) learn(rows [][][]byte, batch []events.Record) {
	var greatest uuid.UUID
	if len(rows) == 1 {
		copy(greatest[:], rows[0][0])
	}
	k.sure, k.ids = true, ledger.NewRecent(greatest)
	k.note(batch)
}

// committed notes where a commit found the head and where it left it.
func (k *alone) committed(found, left ledger.Head) {
	if k.commits == 0 || found != k.head {
		*k = alone{clock: k.clock}
	}
	k.head = left
	k.commits++
}

// carried is the database's clock as a commit read it, carried on by this
// process' own.
type carried struct {
	read events.Time
	at   time.Time // of this process; it does not go back
}

// carriedFor is how long a reading is carried on before the next commit reads the
// clock again.
const carriedFor = time.Second

// now is the time, as of the process' own, if the reading is not too old.
func (c carried) now(at time.Time) (events.Time, bool) {
	since := at.Sub(c.at)
	return c.read.Add(since), !c.at.IsZero() && since >= 0 && since < carriedFor
}
