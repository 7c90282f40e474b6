package inquiry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/requests"
)

// State is a view's canonical state, by its digest.
type State struct {
	Name     string          `json:"name"`
	Version  uint32          `json:"version"`
	Position events.Position `json:"position"`
	Bytes    int             `json:"bytes"`
	SHA256   string          `json:"sha256"`
}

// StateOf digests a projection's state at a position.
func StateOf(p projections.Projection, at events.Position) State {
	b := p.AppendState(nil)
	sum := sha256.Sum256(b)
	return State{Name: p.Name(), Version: p.Version(), Position: at, Bytes: len(b), SHA256: hex.EncodeToString(sum[:])}
}

// Rebuilt is the views at a position.
type Rebuilt struct {
	From      events.Position // of the snapshot that they come from; 0: folded from zero
	Admission *admission.View
	Pins      *pins.View
	Requests  *requests.View
	Position  events.Position
	Now       events.Time // the instant that it stands for
}

func (r *Rebuilt) all() []projections.Projection {
	return []projections.Projection{r.Admission, r.Pins, r.Requests}
}

// States are the digests of all views.
func (r *Rebuilt) States() []State {
	var out []State
	for _, p := range r.all() {
		out = append(out, StateOf(p, r.Position))
	}
	return out
}

// Comparison is what a rebuild was compared with.
type Comparison struct {
	With        string   `json:"with"`
	Identical   bool     `json:"identical"`
	Differences []string `json:"differences"`
}

// Rebuild folds from zero to a moment, and checks the chain on the way: an event
// that does not follow from the one before it ends the fold with a
// *ledger.Fault. At each position of stops the fold pauses and calls the stop's
// function: what is compared there was taken from elsewhere at that position.
func Rebuild(ctx context.Context, log Log, m Moment, stops map[events.Position]func(*Rebuilt), tellTo Progress) (*Rebuilt, error) {
	at, now, err := place(ctx, log, m)
	if err != nil {
		return nil, err
	}
	r := newRebuilt(now)
	if stop := stops[0]; stop != nil {
		stop(r)
	}
	all, chain := r.all(), ledger.NewChecker(ledger.Head{})
	err = views.Walk(ctx, log, 0, at, func(row *ledger.Row, link ledger.Link, e *events.Event, err error) error {
		if f := chain.Linked(row, link); f != nil {
			return f
		}
		if err != nil {
			return err
		}
		for _, p := range all {
			p.Apply(e)
		}
		r.Position = e.Position
		if stop := stops[e.Position]; stop != nil {
			stop(r)
		}
		return tell(ctx, tellTo, e.Position, at)
	})
	if err != nil {
		return nil, fmt.Errorf("fold to %d: %w", at, err)
	}
	return r, nil
}

// Recall brings the views to a moment from the newest snapshot at or before it.
func Recall(ctx context.Context, log Log, m Moment) (*Rebuilt, error) {
	at, now, err := place(ctx, log, m)
	if err != nil {
		return nil, err
	}
	r := newRebuilt(now)
	r.Position = at
	r.From, err = views.To(ctx, log, at, nil, nil, r.all()...)
	return r, err
}

func newRebuilt(now events.Time) *Rebuilt {
	return &Rebuilt{Admission: admission.New(), Pins: pins.New(), Requests: requests.New(requests.Keep), Now: now}
}

// Compare says how the fold's states differ from those taken elsewhere.
func (r *Rebuilt) Compare(with string, taken []State) Comparison {
	c := Comparison{With: with, Identical: true, Differences: []string{}}
	own := map[string]State{}
	for _, s := range r.States() {
		own[s.Name] = s
	}
	for _, t := range taken {
		if t.Position != r.Position {
			continue
		}
		s, ok := own[t.Name]
		switch {
		case !ok:
			c.differ("%s: this binary has no such view", t.Name)
		case s.Version != t.Version:
			c.differ("%s: version %d there, %d here: they cannot be compared", t.Name, t.Version, s.Version)
		case s.SHA256 != t.SHA256:
			c.differ("%s at position %d: %d bytes (%.12s) there, %d bytes (%.12s) from zero", t.Name, t.Position, t.Bytes, t.SHA256, s.Bytes, s.SHA256)
		}
	}
	return c
}

func (c *Comparison) differ(format string, args ...any) {
	c.Identical = false
	c.Differences = append(c.Differences, fmt.Sprintf(format, args...))
}

// CompareSnapshot checks a fold from zero against the newest stored snapshot and
// its tail. Where none is stored, the views are saved and loaded again in the
// middle of the ledger.
func CompareSnapshot(ctx context.Context, log Log, whole *Rebuilt) (Comparison, error) {
	c := Comparison{With: "snapshot and tail", Identical: true, Differences: []string{}}
	r, err := Recall(ctx, log, Moment{Position: whole.Position})
	if err == nil && r.From == 0 {
		r, err = halves(ctx, log, whole, &c)
	}
	if err != nil || r == nil {
		return c, err
	}
	for i, p := range r.all() {
		if !bytes.Equal(p.AppendState(nil), whole.all()[i].AppendState(nil)) {
			c.differ("%s: folded from zero and from the state saved at %d it differs", p.Name(), r.From)
		}
	}
	return c, nil
}

// halves folds the second half of the ledger on states that were saved in the
// middle and loaded again; nil when there is nothing to halve.
func halves(ctx context.Context, log Log, whole *Rebuilt, c *Comparison) (*Rebuilt, error) {
	half := whole.Position / 2
	if half == 0 {
		return nil, nil
	}
	first, err := Recall(ctx, log, Moment{Position: half})
	if err != nil {
		return nil, err
	}
	r := newRebuilt(whole.Now)
	r.From, r.Position = half, whole.Position
	for i, p := range first.all() {
		if err := r.all()[i].LoadState(p.AppendState(nil)); err != nil {
			c.differ("%s: the state at %d cannot be loaded: %s", p.Name(), half, err)
			return nil, nil
		}
	}
	err = views.Each(ctx, log, half, whole.Position, func(e *events.Event) error {
		for _, p := range r.all() {
			p.Apply(e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("fold from %d to %d: %w", half, whole.Position, err)
	}
	return r, nil
}
