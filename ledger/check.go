package ledger

import (
	"fmt"

	"github.com/waybill/waybill/events"
)

// The kinds of faults that a Checker finds.
const (
	FaultGap   = "gap"   // a position is missing
	FaultOrder = "order" // recorded times go back
	FaultChain = "chain" // the bytes are not those that were chained
	FaultHead  = "head"  // the ledger ends elsewhere than its head says
	// FaultArchive: an archive is there and is not what was written.
	FaultArchive = "archive"
)

// Fault is something that is wrong with a ledger.
type Fault struct {
	Position events.Position
	Kind     string
	Detail   string // a sentence
}

// Unwrap: whatever has a fault is broken.
func (f *Fault) Unwrap() error { return ErrBroken }

func (f *Fault) Error() string {
	return fmt.Sprintf("%s at position %d: %s", f.Kind, f.Position, f.Detail)
}

// Foreign is the fault of a row that no append has written: what it holds in a
// column does not fit in what is chained, so the chain would not show it.
func Foreign(at events.Position, column string) *Fault {
	return &Fault{at, FaultUnreadable, "its " + column + " is stored as nothing is that was appended"}
}

// Checker walks the chain: positions without a gap, recorded times that never
// go back, and every row's hash over its exact bytes and the hash before it.
type Checker struct {
	last Head
	free bool // the hash before the first row is not known
}

// NewChecker starts after a head that is known to be right: the zero one for a
// whole ledger.
func NewChecker(after Head) *Checker { return &Checker{last: after} }

// NewCheckerFrom starts after a position whose hash is not known: the first
// row's own hash is taken as it is.
func NewCheckerFrom(after events.Position) *Checker {
	return &Checker{last: Head{Position: after}, free: after > 0}
}

// Link is what a row's hash has to be if the hash before it is Before. It is
// computed without knowing that, so rows can be hashed in any order.
type Link struct{ Before, Hash events.Hash }

// Link is the row's, behind a hash that is taken for the one before it.
func (r *Row) Link(before events.Hash) Link {
	return Link{before, events.Chain(before, r.Position, r.RecordedAt, r.ContentHash())}
}

// Next checks the row after the last one; content is its content hash. nil: it
// is right. After a fault the checker stands where it was.
func (c *Checker) Next(r *Row, content events.Hash) *Fault {
	return c.step(r, events.Chain(c.last.Hash, r.Position, r.RecordedAt, content))
}

// Linked is Next for a row that was hashed already.
func (c *Checker) Linked(r *Row, l Link) *Fault {
	if l.Before != c.last.Hash {
		return c.Next(r, r.ContentHash())
	}
	return c.step(r, l.Hash)
}

// step checks a row whose hash has to be a given one.
func (c *Checker) step(r *Row, hash events.Hash) *Fault {
	switch want := c.last.Position + 1; {
	case r.Position != want:
		return &Fault{want, FaultGap, fmt.Sprintf("position %d is missing: %d follows %d", want, r.Position, c.last.Position)}
	case r.RecordedAt < c.last.RecordedAt:
		return &Fault{want, FaultOrder, fmt.Sprintf("recorded at %s, before the one before it at %s", r.RecordedAt, c.last.RecordedAt)}
	case !c.free && hash != r.Hash:
		return &Fault{want, FaultChain, "its hash does not follow from its bytes and the hash before it: this event or an earlier one was changed"}
	}
	c.free = false
	c.last = Head{Position: r.Position, Hash: r.Hash, RecordedAt: r.RecordedAt}
	return nil
}

// End checks that the rows ended where the head says.
func (c *Checker) End(head Head) *Fault {
	switch {
	case c.last.Position < head.Position:
		return &Fault{c.last.Position + 1, FaultHead, fmt.Sprintf("the ledger's head says %d, but its rows end at %d", head.Position, c.last.Position)}
	case c.last.Position == head.Position && c.last.Hash != head.Hash:
		return &Fault{head.Position, FaultHead, "the ledger's head has another hash than its last row"}
	}
	return nil
}

// Last is the last row that was right.
func (c *Checker) Last() Head { return c.last }
