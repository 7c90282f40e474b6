package ledger

import (
	"fmt"

	"github.com/google/uuid"
)

// FaultWriter: a writer's own count has a gap, or goes back.
const FaultWriter = "writer"

// Counts follows the counts that writers number their own events with. They
// commit in that order without a gap, so what is missing from a chain that was
// made whole again shows here. Where a writer is met first says nothing: what
// is before may not be read.
type Counts map[uuid.UUID]uint64

// Next checks the row after those before it; nil: it is right.
func (c Counts) Next(r *Row) *Fault {
	if r.WriterSeq == 0 || r.Writer == uuid.Nil {
		return nil // nobody's
	}
	last, met := c[r.Writer]
	if met && r.WriterSeq != last+1 {
		return &Fault{r.Position, FaultWriter, fmt.Sprintf("it is event %d of writer %s, whose event %d came before it: what is between is missing, or they changed places",
			r.WriterSeq, r.Writer, last)}
	}
	c[r.Writer] = r.WriterSeq
	return nil
}
