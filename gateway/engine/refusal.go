package engine

import (
	"context"
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
)

// Refusal is a recorded refusal, or advice when Ask.Answered.
type Refusal struct {
	routing.Refusal
	Candidates []routing.Candidate
	Stamp      events.Stamp

	commit commit // of nothing when it is advice
}

// Durable waits until the refusal may be sent.
func (r *Refusal) Durable(ctx context.Context) error { return r.commit.wait(ctx) }

// Left is what a returned answer's Reply says of the candidates.
func (r *Refusal) Left() []events.Verdict {
	d := routing.Decision{Candidates: r.Candidates}
	return d.Verdicts()
}

// refuse records a refusal, unless an earlier attempt got an answer: then that
// answer is the client's and the refusal only says what is left (R17).
func (e *Engine) refuse(w *walk, s events.Stamp, d *routing.Decision) (*Refusal, error) {
	r := &Refusal{Refusal: d.Refusal, Candidates: slices.Clone(d.Candidates), Stamp: s}
	if w.ask.Answered {
		return r, nil
	}
	refused := d.Refused(&r.Stamp)
	var drafts []events.Draft
	if d.Long() {
		drafts, refused.Listed = e.list(drafts, w, d.Verdicts())
	}
	h := events.Header{Request: w.ask.Request, Attempt: w.ask.Attempt}
	t, err := e.record(e.decisionUrgency(), append(drafts, events.Draft{Header: h, Data: refused})...)
	r.commit = e.commitOf(t)
	return r, err
}
