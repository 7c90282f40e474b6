package inquiry

import (
	"context"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/projections/admission"
)

// Spell is a time over which the verdict of an account stayed the same.
type Spell struct {
	From, To events.Time
	State    string
	Reason   string
	Evidence events.Position // the deciding event; 0: none
}

// Track is how an account stood over a span of time.
type Track struct {
	From      events.Time // where it begins: later than asked when Most events reach back less
	Spells    []Spell     // without a gap, oldest first
	Overrides []Spell     // times in which no claim set it aside
}

// TrackOf asks how an account stood, and of a model where one is named.
type TrackOf struct {
	Account, Model string
	From, To       events.Time
	Most           events.Position // events that are folded at most, the latest ones

	Visit func(*events.Event) // sees the account's events that are folded; it may keep a payload, not the event; nil: nobody does
}

// Spells folds to the beginning of a span and follows an account's verdict
// through it, event by event and through the instants at which time alone
// changes it.
func Spells(ctx context.Context, log Log, o TrackOf) (Track, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return Track{}, fmt.Errorf("find the head: %w", err)
	}
	begin, err := before(ctx, log, head, o.From)
	if err != nil {
		return Track{}, err
	}
	end, err := before(ctx, log, head, o.To)
	if err != nil {
		return Track{}, err
	}
	if end == 0 {
		return Track{From: o.From}, nil // the ledger begins later
	}
	t := tracker{of: o, view: admission.New(), out: Track{From: o.From}}
	if end-begin > o.Most {
		if begin, t.out.From, err = place(ctx, log, Moment{Position: end - o.Most}); err != nil {
			return Track{}, err
		}
	}
	if _, err := views.To(ctx, log, begin, nil, nil, t.view); err != nil {
		return Track{}, err
	}
	t.look(t.out.From)
	err = views.Each(ctx, log, begin, end, func(e *events.Event) error {
		t.pass(e.RecordedAt)
		t.view.Apply(e)
		t.look(e.RecordedAt)
		if e.Account == o.Account {
			t.override(e)
			if o.Visit != nil {
				o.Visit(e)
			}
		}
		return nil
	})
	if err != nil {
		return Track{}, fmt.Errorf("follow account %s: %w", o.Account, err)
	}
	t.pass(o.To)
	t.end()
	return t.out, nil
}

// tracker follows one verdict through a fold.
type tracker struct {
	of    TrackOf
	view  *admission.View
	valid events.Time // when time alone may change the verdict
	out   Track
}

// pass lets time pass, up to the next event.
func (t *tracker) pass(to events.Time) {
	for t.valid != 0 && t.valid < to {
		was := t.valid
		if t.look(was); t.valid <= was {
			return
		}
	}
}

// look judges the account at an instant, and begins a new spell if it stands
// otherwise than before.
func (t *tracker) look(now events.Time) {
	a := t.view.Account(t.of.Account)
	if a == nil {
		return
	}
	doc, _ := t.view.Document()
	v := admission.Admit(t.view, admission.Path{Account: a.No, Model: t.of.Model}, &doc.Policy, now)
	t.valid = v.Valid
	s := Spell{From: now, State: v.State.String(), Reason: v.Reason.String(), Evidence: events.Position(max(v.Evidence, 0))}
	if n := len(t.out.Spells); n > 0 {
		last := &t.out.Spells[n-1]
		if last.State == s.State && last.Reason == s.Reason && last.Evidence == s.Evidence {
			return
		}
		last.To = now
	}
	t.out.Spells = append(t.out.Spells, s)
}

// override notes until when claims do not count, after an event of the account.
func (t *tracker) override(e *events.Event) {
	a := t.view.Account(t.of.Account)
	if a == nil {
		return
	}
	doc, _ := t.view.Document()
	until := admission.StatusOf(t.view, admission.Path{Account: a.No, Model: t.of.Model}, &doc.Policy, e.RecordedAt).Override
	n := len(t.out.Overrides)
	if n > 0 && t.out.Overrides[n-1].To >= e.RecordedAt {
		t.out.Overrides[n-1].To = max(until, e.RecordedAt) // it goes on, or this event ended it
		return
	}
	if until > e.RecordedAt {
		t.out.Overrides = append(t.out.Overrides, Spell{From: e.RecordedAt, To: until, Evidence: e.Position})
	}
}

func (t *tracker) end() {
	if n := len(t.out.Spells); n > 0 {
		t.out.Spells[n-1].To = t.of.To
	}
	for i := range t.out.Overrides {
		t.out.Overrides[i].To = min(t.out.Overrides[i].To, t.of.To)
	}
}
