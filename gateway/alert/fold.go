package alert

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/routing"
	"github.com/waybill/waybill/projections/story"
)

// lookBack is how many events before its place a fold reads to know which
// models were refused last. A model that was asked for before is news again.
const lookBack = 10_000

// maxModels bounds the models that are told apart: clients choose their names.
const maxModels = 1000

// Fold finds the alerts of a ledger. It is for one goroutine.
type Fold struct {
	log    inquiry.Log
	logger *slog.Logger
	kinds  map[Kind]bool

	view     *admission.View
	standing map[uint32][]events.Cell // what keeps each account out, by roster number
	refused  map[string]bool          // models whose newest request was refused
	asking   map[uuid.UUID]string     // requests that were routed meanwhile
}

// NewFold finds alerts of some kinds.
func NewFold(log inquiry.Log, kinds []Kind, logger *slog.Logger) *Fold {
	f := &Fold{log: log, logger: logger, kinds: map[Kind]bool{}}
	for _, k := range kinds {
		f.kinds[k] = true
	}
	return f
}

// Start folds to a position: what stands there is no news.
func (f *Fold) Start(ctx context.Context, at events.Position) error {
	f.view, f.standing, f.refused, f.asking = admission.New(), map[uint32][]events.Cell{}, map[string]bool{}, map[uuid.UUID]string{}
	if at == 0 {
		return nil
	}
	if _, err := views.To(ctx, f.log, at, f.logger, nil, f.view); err != nil {
		return fmt.Errorf("start alerts: %w", err)
	}
	last, err := f.log.Read(ctx, at-1, ledger.Filter{}, 1)
	if err != nil {
		return fmt.Errorf("start alerts: %w", err)
	}
	for i := range last {
		for _, a := range f.view.Roster() {
			f.standing[a.No] = cellsOf(f.cells(a.No, last[i].RecordedAt))
		}
	}
	some := ledger.Filter{UpTo: at, Kinds: []events.Kind{events.KindRequestRefused, events.KindAttemptRouted, events.KindAttemptSucceeded}}
	return f.log.Each(ctx, at-min(at, lookBack), some, func(e *events.Event) error {
		f.serves(e)
		return nil
	})
}

// Next folds an event and returns what it brought about.
func (f *Fold) Next(ctx context.Context, e *events.Event) []Alert {
	f.view.Apply(e)
	var out []Alert
	if f.serves(e) && f.kinds[Exhausted] {
		out = append(out, f.exhausted(ctx, e))
	}
	if a := f.view.Account(e.Account); a != nil && evidence(e.Data) {
		out = append(out, f.parked(ctx, e, a.No)...)
	}
	return out
}

// evidence says whether a payload may change what keeps an account out.
func evidence(p events.Payload) bool {
	switch p.(type) {
	case *events.QuotaFetched, *events.AttemptSucceeded, *events.TrialPassed, *events.OperatorParked, *events.OperatorReleased,
		*events.OperatorDrained, *events.OperatorUndrained, *events.AccountChanged:
		return true
	}
	_, ok := events.FailureOf(p)
	return ok
}

// serves keeps which models were refused last, and says that this one was not
// before.
func (f *Fold) serves(e *events.Event) (news bool) {
	switch p := e.Data.(type) {
	case *events.RequestRefused:
		if p.Code != routing.CodeExhausted || f.refused[p.Stamp.Asked] {
			return false
		}
		if len(f.refused) >= maxModels {
			clear(f.refused)
		}
		f.refused[p.Stamp.Asked] = true
		return true
	case *events.AttemptRouted:
		if f.refused[p.Stamp.Asked] && len(f.asking) < maxModels {
			f.asking[e.Request] = p.Stamp.Asked
		}
	case *events.AttemptSucceeded:
		if model, ok := f.asking[e.Request]; ok {
			delete(f.refused, model)
			clear(f.asking)
		}
	}
	return false
}

// cells are what keeps an account out, whether it is due for a trial or not.
// Bursts and health pass within seconds and are not told.
func (f *Fold) cells(no uint32, now events.Time) []admission.CellReport {
	doc, _ := f.view.Document()
	all := admission.Explain(f.view, admission.Path{Account: no}, &doc.Policy, now)
	return slices.DeleteFunc(all, func(c admission.CellReport) bool {
		passing := c.Cell.Axis == events.AxisRate || c.Cell.Axis == events.AxisHealth
		return passing || c.State == "clear" || len(c.Evidence) == 0
	})
}

func cellsOf(reports []admission.CellReport) []events.Cell {
	var out []events.Cell
	for i := range reports {
		out = append(out, reports[i].Cell)
	}
	return out
}

// parked tells of the first cell that is new.
func (f *Fold) parked(ctx context.Context, e *events.Event, no uint32) []Alert {
	now := f.cells(no, e.ObservedAt)
	before := f.standing[no]
	f.standing[no] = cellsOf(now)
	var out []Alert
	for i := range now {
		kind := Parked
		if now[i].Cell.Axis == events.AxisPayment && f.kinds[Payment] {
			kind = Payment
		}
		told := slices.ContainsFunc(out, func(a Alert) bool { return a.Kind == kind })
		if f.kinds[kind] && !told && !slices.Contains(before, now[i].Cell) {
			out = append(out, f.tell(ctx, kind, e, no, &now[i]))
		}
	}
	return out
}

// tell makes the alert of a cell, in the words of the account's row.
func (f *Fold) tell(ctx context.Context, kind Kind, e *events.Event, no uint32, c *admission.CellReport) Alert {
	model := ""
	if k := c.Cell.Scope.Kind; k == events.ScopeModel || k == events.ScopeFamily {
		model = e.Model
	}
	taken := story.Take(f.view, no, model, e.Position, e.ObservedAt)
	row := taken.Finish(inquiry.Lookup(ctx, f.log), 0)
	a := of(kind, e, c.Cell.Axis.String()+" "+c.Cell.Scope.String())
	a.Axis, a.Scope, a.Reason, a.Until, a.TrialAt = c.Cell.Axis.String(), c.Cell.Scope.String(), c.Reason.String(), c.Until, c.TrialAt
	a.Model, a.Sentence, a.Evidence = model, row.Verdict.Sentence, row.Verdict.Evidence
	a.link()
	return a
}

// exhausted tells of a refusal, with the evidence against every account.
func (f *Fold) exhausted(ctx context.Context, e *events.Event) Alert {
	p := e.Data.(*events.RequestRefused) // serves said so
	a := of(Exhausted, e, p.Stamp.Asked)
	a.Model, a.Reason, a.Until = p.Stamp.Asked, p.Code, p.Earliest
	a.Sentence = story.Exhausted(e, p)
	look := inquiry.Lookup(ctx, f.log)
	for _, v := range p.Verdicts {
		if ev := look(events.Position(max(v.Evidence, 0))); ev != nil {
			a.Evidence = append(a.Evidence, story.EvidenceOf(ev))
		}
	}
	a.link()
	return a
}
