package inquiry

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/routing"
	"github.com/waybill/waybill/projections/story"
)

// Moment is when a view is asked for: a position, an instant, or neither for
// the head and now.
type Moment struct {
	Position events.Position
	Time     events.Time
	Now      events.Time // for neither, and for a position at the head
}

// HeadAt is where the ledger stood at a moment.
func HeadAt(ctx context.Context, log Log, m Moment) (ledger.Head, error) {
	at, _, err := place(ctx, log, m)
	if err != nil || at == 0 {
		return ledger.Head{}, err
	}
	got, err := log.Read(ctx, at-1, ledger.Filter{UpTo: at}, 1)
	if err != nil || len(got) == 0 {
		return ledger.Head{}, fmt.Errorf("read position %d: %w", at, err)
	}
	return ledger.Head{Position: at, Hash: got[0].Hash, RecordedAt: got[0].RecordedAt}, nil
}

// place turns a moment into the position to fold to and the instant to judge at.
func place(ctx context.Context, log Log, m Moment) (events.Position, events.Time, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("find the head: %w", err)
	}
	switch {
	case m.Position > head.Position:
		return 0, 0, fmt.Errorf("position %d, head %d: %w", m.Position, head.Position, ErrBeyondHead)
	case m.Position != 0:
		got, err := log.Read(ctx, m.Position-1, ledger.Filter{}, 1)
		if err != nil || len(got) == 0 {
			return 0, 0, fmt.Errorf("read position %d: %w", m.Position, err)
		}
		return m.Position, got[0].RecordedAt, nil
	case m.Time != 0:
		at, err := before(ctx, log, head, m.Time)
		return at, m.Time, err
	}
	return head.Position, m.Now, nil
}

// Place is the last position that a moment holds.
func Place(ctx context.Context, log Log, m Moment) (events.Position, error) {
	at, _, err := place(ctx, log, m)
	return at, err
}

// before is the last position that was recorded at or before an instant:
// recorded times are monotone in position, so a search by halves finds it.
func before(ctx context.Context, log Log, head ledger.Head, t events.Time) (events.Position, error) {
	lo, hi := events.Position(0), head.Position // recorded(lo) <= t < recorded(hi+1)
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		got, err := log.Read(ctx, mid-1, ledger.Filter{}, 1)
		if err != nil || len(got) == 0 {
			return 0, fmt.Errorf("read position %d: %w", mid, err)
		}
		if got[0].RecordedAt <= t {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo, nil
}

// Accounts are the rows of all accounts as of a moment; id narrows to one and
// model asks about that model.
func Accounts(ctx context.Context, log Log, m Moment, id, model string) ([]story.Account, error) {
	at, now, err := place(ctx, log, m)
	if err != nil {
		return nil, err
	}
	v := admission.New()
	if _, err := views.To(ctx, log, at, nil, nil, v); err != nil {
		return nil, err
	}
	out, err := rows(v, Lookup(ctx, log), at, now, id, model)
	if errors.Is(err, ErrUnknownAccount) {
		err = absent(ctx, log, ledger.Filter{Account: id, Kinds: []events.Kind{events.KindAccountEnrolled}}, "it was enrolled", err)
		if errors.Is(err, ErrNotYet) {
			err = fmt.Errorf("account %s: %w", id, err)
		}
	}
	return out, err
}

// absent says why something is not there at a moment: it came later, or unknown.
func absent(ctx context.Context, log Log, f ledger.Filter, began string, unknown error) error {
	got, err := log.Read(ctx, 0, f, 1)
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return unknown
	}
	return fmt.Errorf("%w: %s at %s, position %d", ErrNotYet, began, got[0].RecordedAt, got[0].Position)
}

func rows(v *admission.View, look story.Lookup, at events.Position, now events.Time, id, model string) ([]story.Account, error) {
	out := []story.Account{}
	for _, a := range v.Roster() {
		if id != "" && a.ID != id || id == "" && a.Retired {
			continue
		}
		t := story.Take(v, a.No, routing.SentAs(v, a.No, model), at, now)
		out = append(out, t.Finish(look, 0))
	}
	if id != "" && len(out) == 0 {
		return nil, fmt.Errorf("account %s: %w", id, ErrUnknownAccount)
	}
	return out, nil
}
