package inquiry

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
)

// run is a stretch of positions that can be read: live, or in archives that are
// at hand.
type run struct {
	after  ledger.Head
	before ledger.Head   // of what follows and is not at hand; zero: the store's end
	fault  *ledger.Fault // of the archive that follows, which is there and wrong
}

// stretches are the runs of a ledger, and the archives between them that are
// not at hand.
type stretches struct {
	runs   []run
	absent []ledger.Archived
	there  []*ledger.Archived
}

// stretch looks for the archives. Behind one that is there and wrong nothing is
// read.
func stretch(l *ledger.Layout, shelf ledger.Shelf) (s stretches, err error) {
	open := run{}
	for i, last := 0, (ledger.Head{}); i < len(l.Archived); i++ {
		a := &l.Archived[i]
		fault, err := atHand(shelf, last, a)
		before := ledger.Head{Position: a.First - 1, Hash: a.Before}
		switch {
		case fault != nil:
			open.before, open.fault = before, fault
			s.runs = append(s.runs, open)
			return s, nil
		case errors.Is(err, ledger.ErrArchived):
			if open.after.Position < before.Position {
				open.before = before
				s.runs = append(s.runs, open)
			}
			s.absent, open = append(s.absent, *a), run{after: a.End}
		case err != nil:
			return s, err
		default:
			s.there = append(s.there, a)
		}
		last = a.End
	}
	s.runs = append(s.runs, open)
	return s, nil
}

// atHand looks for an archive behind the end of the one before it.
func atHand(shelf ledger.Shelf, last ledger.Head, a *ledger.Archived) (fault *ledger.Fault, err error) {
	switch {
	case a.First != last.Position+1 || a.Before != last.Hash:
		return &ledger.Fault{Position: last.Position + 1, Kind: ledger.FaultArchive, Detail: fmt.Sprintf(
			"the store says that positions %d to %d are archived, which does not follow what is archived before", a.First, a.End.Position)}, nil
	case shelf == nil:
		return nil, ledger.ErrArchived
	}
	err = shelf.AtHand(a)
	errors.As(err, &fault)
	return fault, err
}

// walk checks a run. errFault: it ended at a fault.
func (c *check) walk(ctx context.Context, log Log, r run, head events.Position, p Progress) error {
	upTo := head
	if r.before.Position > 0 || r.fault != nil {
		upTo = r.before.Position
	}
	err := views.Walk(ctx, log, r.after.Position, upTo, func(r *ledger.Row, link ledger.Link, e *events.Event, err error) error {
		if err := c.next(ctx, r, link, e, err); err != nil {
			return err
		}
		return tell(ctx, p, r.Position, head)
	})
	if errors.Is(err, ledger.ErrBroken) {
		err = c.upToDamage(ctx, log, upTo, err)
	}
	if err == nil && upTo != head {
		c.fault(c.chain.End(r.before))
		c.fault(r.fault)
	}
	if err == nil && c.verdict.Fault != nil {
		err = errFault
	}
	return err
}

// begin starts the check of a run.
func (c *check) begin(r run) {
	c.chain, c.counts = ledger.NewChecker(r.after), ledger.Counts{}
	c.fault(c.passed(r.after))
}

// intact holds the files of archives whose events are right against their
// manifests: something may lie in them that is in no event.
func (c *check) intact(ctx context.Context, shelf ledger.Shelf, all []*ledger.Archived) error {
	for _, a := range all {
		err := shelf.Intact(ctx, a)
		if fault := (*ledger.Fault)(nil); errors.As(err, &fault) {
			c.fault(fault)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
