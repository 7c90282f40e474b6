package story

import (
	"fmt"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/requests"
)

// Finish makes the story. ok is false when the ledger holds no such request.
func (b *Builder) Finish(look Lookup) (r Request, ok bool) {
	row, ok := b.rows.Get(b.id)
	if !ok {
		return Request{}, false
	}
	r = Request{
		Request: b.id, Outcome: row.Outcome.String(), Status: row.Status, Code: row.Code, Client: row.Client,
		Dialect: row.Dialect.String(), Model: row.Asked, Session: row.Session.String(), Started: row.Started, Ended: row.Ended,
		Attempts: b.attempts(), Decisions: []Decision{},
	}
	b.retry(&r, look)
	for i := range b.cases {
		r.Decisions = append(r.Decisions, b.cases[i].finish(look))
	}
	r.Replay = replayOf(r.Decisions)
	r.Sentences = b.sentences(&r, &row)
	return r, true
}

// retry finds what the client was told about coming back.
func (b *Builder) retry(r *Request, look Lookup) {
	for i := range b.outcomes {
		if f, ok := events.FailureOf(b.outcomes[i].Data); ok && f.Reply != nil {
			r.RetryAfter, r.RetryFrom = f.Reply.RetryAfter, f.Reply.RetrySource
		}
	}
	if b.ended != nil {
		r.RetryAfter, r.RetryFrom = b.ended.Reply.RetryAfter, b.ended.Reply.RetrySource
	}
	for i := range b.cases {
		if b.cases[i].decision.Kind != "refusal" {
			continue
		}
		if e := look(b.cases[i].decision.Event); e != nil {
			if p, ok := e.Data.(*events.RequestRefused); ok {
				r.RetryAfter, r.RetryFrom, r.Earliest = p.RetryAfter, p.RetrySource, p.Earliest
			}
		}
	}
}

// finish turns what was taken of a decision into its data and words.
func (t *told) finish(look Lookup) Decision {
	d := t.decision
	for i := range t.candidates {
		j := &t.candidates[i]
		d.Candidates = append(d.Candidates, Candidate{Account: j.account, Model: j.path.Model, Tier: j.tier, Chosen: j.chosen,
			Weight: j.weight, Verdict: j.shape(look, d.DecidedAt, before)})
	}
	d.Sentence = t.plan.sentence(&d, t.candidates)
	return d
}

func replayOf(ds []Decision) Replay {
	out := Replay{Differences: []Difference{}, Skipped: []uint32{}}
	compared, same := 0, true
	for i := range ds {
		d := &ds[i]
		if !d.Replayed {
			out.Skipped = append(out.Skipped, d.Rules)
			continue
		}
		compared++
		same = same && d.Identical
		for _, x := range d.Differs {
			out.Differences = append(out.Differences, Difference{d.Event, x})
		}
	}
	if compared > 0 {
		out.Identical = &same
	}
	out.Sentence = replaySentence(&out, compared)
	return out
}

func replaySentence(r *Replay, compared int) string {
	var s string
	switch {
	case compared == 0 && len(r.Skipped) == 0:
		return "There is no decision to replay."
	case compared == 0:
	case *r.Identical && compared == 1:
		s = "A replay of the decision agrees."
	case *r.Identical:
		s = fmt.Sprintf("A replay of all %d decisions agrees.", compared)
	default:
		d := r.Differences[0]
		s = fmt.Sprintf("A replay DISAGREES at event %d: %s.", d.Event, d.String())
	}
	if len(r.Skipped) > 0 {
		s += prefixedSpace(s) + fmt.Sprintf("%d decisions were made under rules that this binary does not carry (version %d), and were not replayed.", len(r.Skipped), r.Skipped[0])
	}
	return s
}

func prefixedSpace(s string) string {
	if s == "" {
		return ""
	}
	return " "
}

// sentences is the story from the first line to the last.
func (b *Builder) sentences(r *Request, row *requests.Row) []string {
	out := []string{opening(r)}
	next := 0
	for i := range r.Decisions {
		d := &r.Decisions[i]
		out = append(out, d.Sentence)
		out = append(out, skips(d)...)
		if d.Kind == "dispatch" && next < len(r.Attempts) {
			out = append(out, r.Attempts[next].Sentence)
			next++
		}
	}
	if row.Outcome == requests.Open {
		out = append(out, "The request is not answered yet.")
	}
	return append(out, r.Replay.Sentence)
}

// skips tells the candidates that have something to say: not those that were
// simply admitted, and those that the attempts before tell of in one sentence.
func skips(d *Decision) []string {
	var out, tried []string
	for k := range d.Candidates {
		switch c := &d.Candidates[k]; {
		case c.Reason == events.ReasonAlreadyTried.String():
			tried = append(tried, c.Account)
		case c.Chosen && c.Admitted, c.Admitted && len(c.Cells) == 0:
		default:
			out = append(out, c.Sentence)
		}
	}
	if len(tried) > 0 {
		out = append(out, "This request had been sent to "+strings.Join(tried, " and ")+" before, and goes to each account once.")
	}
	return out
}

func opening(r *Request) string {
	s := "Request " + r.Request.String()
	if r.Client != "" {
		s += " of client " + r.Client
	}
	s += fmt.Sprintf(" for model %s (%s) at %s ", orUnknown(r.Model), orUnknown(r.Dialect), full(r.Started))
	switch r.Outcome {
	case "served":
		return s + fmt.Sprintf("was served with %d.", r.Status)
	case "refused":
		s += fmt.Sprintf("was refused by Waybill with %d %s%s", r.Status, r.Code, retryAfter(r.RetryAfter, r.RetryFrom))
		if r.Earliest != 0 {
			s += "; the earliest reset is " + instant(r.Earliest, r.Started)
		}
		return s + "."
	case "failed":
		if r.Status == 0 {
			return s + "failed: its client got no answer."
		}
		return s + fmt.Sprintf("failed: its client got %d%s.", r.Status, prefixed(" ", r.Code))
	case "aborted":
		return s + "was aborted by its client."
	}
	return s + "is open."
}
