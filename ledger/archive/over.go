package archive

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Over is a store whose scans go on into the archives of what left it: whoever
// reads it reads the whole ledger. Whatever else the store can do is found
// behind it by ledger.Part. A store that events never leave is returned as it is.
func Over(s ledger.Store, p *Past) ledger.Store {
	g, ok := ledger.Part[ledger.Segmented](s)
	if !ok {
		return s
	}
	return &over{Store: s, segmented: g, past: p}
}

// over is a store and its past.
type over struct {
	ledger.Store
	segmented ledger.Segmented
	past      *Past
	seen      atomic.Pointer[ledger.Layout]
}

// Unwrap is for ledger.Part.
func (o *over) Unwrap() ledger.Store { return o.Store }

// AtHand implements ledger.Shelf.
func (o *over) AtHand(a *ledger.Archived) error { return o.past.Has(a) }

// Intact implements ledger.Shelf.
func (o *over) Intact(ctx context.Context, a *ledger.Archived) error { return o.past.intact(ctx, a) }

// Scan implements ledger.Store.
func (o *over) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	p := pass{over: o, at: after, filter: f, left: limit, fn: fn}
	return p.run(ctx)
}

// layout is how the store is divided, as last seen: it is read again when the
// store says that more has left.
func (o *over) layout(ctx context.Context, again bool) (*ledger.Layout, error) {
	if l := o.seen.Load(); l != nil && !again {
		return l, nil
	}
	l, err := o.segmented.Layout(ctx, 0)
	if err != nil {
		return nil, err
	}
	o.seen.Store(&l)
	return &l, nil
}

// errEnough ends a scan at its limit.
var errEnough = errors.New("enough")

func enough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// pass is one scan over archives and store.
type pass struct {
	*over
	at     events.Position // the last row given, or where the scan starts
	filter ledger.Filter
	left   int // 0: no limit
	fn     func(*ledger.Row) error
}

func (p *pass) run(ctx context.Context) error {
	for before := (*ledger.Layout)(nil); ; {
		l, err := p.layout(ctx, before != nil)
		if err != nil {
			return err
		}
		if err := p.archives(ctx, l); err != nil {
			return enough(err)
		}
		err = p.Store.Scan(ctx, p.at, p.filter, p.left, p.give)
		overtaken := errors.Is(err, ledger.ErrArchived) && (before == nil || before.Anchor() != l.Anchor())
		if !overtaken {
			return enough(err)
		}
		before = l
	}
}

// give hands a row over that the filter lets through.
func (p *pass) give(r *ledger.Row) error {
	p.at = r.Position
	if err := p.fn(r); err != nil {
		return err
	}
	if p.left > 0 {
		if p.left--; p.left == 0 {
			return errEnough
		}
	}
	return nil
}

// archives reads what is behind the pass and left the store.
func (p *pass) archives(ctx context.Context, l *ledger.Layout) error {
	for i := range l.Archived {
		a := &l.Archived[i]
		if a.End.Position <= p.at {
			continue
		}
		if p.filter.UpTo != 0 && a.First > p.filter.UpTo {
			return errEnough
		}
		if concerns(&p.filter, a) {
			upTo := a.End.Position
			if p.filter.UpTo != 0 {
				upTo = min(upTo, p.filter.UpTo)
			}
			err := p.past.scan(ctx, a, max(p.at, a.First-1), upTo, func(r *ledger.Row) error {
				if !p.filter.MatchRow(r) {
					return nil
				}
				return p.give(r)
			})
			if err != nil {
				return err
			}
		}
		p.at = max(p.at, a.End.Position)
	}
	return ctx.Err()
}

// requestSlack is how much earlier than its request's id says an event may
// have been recorded: clocks differ.
const requestSlack = 24 * time.Hour

// concerns says whether an archive can hold what a filter lets through. Ids of
// requests are UUIDv7: their time says where they cannot be.
func concerns(f *ledger.Filter, a *ledger.Archived) bool {
	switch {
	case f.Since != 0 && a.End.RecordedAt < f.Since, f.Until != 0 && a.Start >= f.Until:
		return false
	case f.Request != uuid.Nil && f.Request.Version() == 7:
		made := events.At(time.UnixMilli(int64(f.Request[0])<<40 | int64(f.Request[1])<<32 | int64(f.Request[2])<<24 | int64(f.Request[3])<<16 | int64(f.Request[4])<<8 | int64(f.Request[5])))
		return made <= a.End.RecordedAt.Add(requestSlack)
	}
	return true
}
