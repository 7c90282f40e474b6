package ledger

import "fmt"

// Holds says what is wrong with a row that stands where a head was seen
// earlier; nil for any other row.
func (h *Head) Holds(r *Row) *Fault {
	if r.Position != h.Position || r.Hash == h.Hash && (h.RecordedAt == 0 || r.RecordedAt == h.RecordedAt) {
		return nil
	}
	return &Fault{r.Position, FaultHead, "another event stood here when the checkpoint was taken: the ledger was rewritten"}
}

// Cut says that a ledger ends before a head that was seen earlier; nil when it
// does not.
func Cut(now, seen Head) *Fault {
	if now.Position >= seen.Position {
		return nil
	}
	return &Fault{now.Position + 1, FaultHead,
		fmt.Sprintf("the ledger ends at %d, but it went up to %d when the checkpoint was taken: its end was cut off", now.Position, seen.Position)}
}
