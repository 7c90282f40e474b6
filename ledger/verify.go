package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybill/waybill/events"
)

// FaultUnreadable says that a payload cannot be decoded.
const FaultUnreadable = "unreadable"

// VerifyOptions say what to verify.
type VerifyOptions struct {
	After    Head                  // where the store's own rows follow, when those before it are archived and not at hand
	From     events.Position       // the first position to check; 0 and 1: all
	Expect   Head                  // a head seen earlier, kept elsewhere: it must still be there; zero: none
	Progress func(events.Position) // called now and then with the position reached
}

// Verified is what a verification found.
type Verified struct {
	Positions uint64 // that were checked and right
	Head      Head   // the last of them
	Fault     *Fault // the first thing that is wrong, nil: nothing is
}

// Verify walks a store's chain: no position is missing, times never go back,
// every hash follows, every payload can be read, and the end is the store's
// head. Then, that accounts' events are found where they are. An error means that
// it could not be done; what is wrong is in Fault.
// Whether the decisions hold is not the ledger's to judge.
func Verify(ctx context.Context, s Store, o VerifyOptions) (Verified, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return Verified{}, fmt.Errorf("verify: %w", err)
	}
	w := walk{opt: o, head: head, entries: NewEntryCheck(s)}
	after := o.After.Position
	w.check = NewChecker(o.After)
	if o.From > after+1 { // the row before is read for its hash
		after = o.From - 2
		w.check = NewCheckerFrom(after)
	}
	err = s.Scan(ctx, after, Filter{UpTo: head.Position}, 0, func(r *Row) error { return w.row(ctx, r) })
	if w.found.Fault == nil {
		errors.As(err, &w.found.Fault)
	}
	if err != nil && w.found.Fault == nil {
		return w.found, fmt.Errorf("verify: %w", err)
	}
	w.end()
	if w.found.Fault != nil { // what is wrong with the events themselves is said first
		return w.found, nil
	}
	if err := w.index(w.entries.End(ctx)); err != nil {
		return w.found, fmt.Errorf("verify: %w", err)
	}
	w.found.Fault = w.indexed
	return w.found, nil
}

// walk is a verification under way.
type walk struct {
	opt     VerifyOptions
	head    Head
	check   *Checker
	codec   events.Codec
	entries *EntryCheck
	indexed *Fault // the first that entries found
	found   Verified
}

// index notes what the check of the entries found.
func (w *walk) index(fault *Fault, err error) error {
	if w.indexed == nil {
		w.indexed = fault
	}
	return err
}

func (w *walk) row(ctx context.Context, r *Row) error {
	fault := w.check.Next(r, r.ContentHash())
	if fault == nil {
		fault = w.opt.Expect.Holds(r)
	}
	if fault == nil {
		if _, err := w.codec.Open(&r.Record); err != nil {
			fault = &Fault{r.Position, FaultUnreadable, err.Error()}
		}
	}
	if fault != nil {
		w.found.Fault = fault
		return fault
	}
	if err := w.index(w.entries.Next(ctx, r)); err != nil {
		return err
	}
	if r.Position >= w.opt.From {
		w.found.Positions++
		w.found.Head = w.check.Last()
	}
	if w.opt.Progress != nil && r.Position%4096 == 0 {
		w.opt.Progress(r.Position)
	}
	return nil
}

// end checks that the walk ended where it had to.
func (w *walk) end() {
	if w.found.Fault == nil {
		w.found.Fault = w.check.End(w.head)
	}
	if w.found.Fault == nil {
		w.found.Fault = Cut(w.head, w.opt.Expect)
	}
}
