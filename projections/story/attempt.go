package story

import (
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/usage"
)

// attempts lists every dispatch of the request with its outcome.
func (b *Builder) attempts() []Attempt {
	out := []Attempt{}
	for n := uint32(1); len(out) < len(b.routed); n++ {
		r, ok := b.routed[n]
		if !ok {
			if n > 1<<10 {
				break
			}
			continue
		}
		var end *events.RequestEnded // where a search followed that found nobody
		a := Attempt{Attempt: n, Account: b.rows.Account(r.Chosen), Model: b.model[n], DispatchedAt: r.Stamp.DecidedAt}
		if e := b.outcome(n); e != nil {
			a.fill(e)
		}
		if a.Failover = b.routed[n+1] != nil; !a.Failover {
			end = b.ended
		}
		a.Sentence = a.sentence(r.Stamp.Asked, b.outcome(n), end)
		out = append(out, a)
	}
	return out
}

// outcome is the last one recorded of an attempt: what a process appended after
// another had to call it lost is the truth.
func (b *Builder) outcome(attempt uint32) *events.Event {
	for i := len(b.outcomes) - 1; i >= 0; i-- {
		if b.outcomes[i].Attempt == attempt {
			return &b.outcomes[i]
		}
	}
	return nil
}

func (a *Attempt) fill(e *events.Event) {
	a.Event, a.Class = e.Position, events.ClassSuccess.String()
	if p, ok := e.Data.(*events.AttemptSucceeded); ok {
		a.Terminal = p.Terminal
		a.answer(&p.Answer)
		return
	}
	f, ok := events.FailureOf(e.Data)
	if !ok {
		return
	}
	a.Class, a.Rule, a.BodyHead = f.Class.String(), f.Rule, f.BodyHead
	if h := f.Hint; h != nil {
		a.Hint = &Hint{Value: h.Value, Until: h.Until, Source: h.Source, Guessed: h.Guessed}
	}
	a.answer(&f.Answer)
	a.Billed = usage.PossiblyBilled(f)
}

func (a *Attempt) answer(p *events.Answer) {
	a.Status, a.AnsweredAt, a.FirstByteMS, a.UpstreamID = p.Status, p.AnsweredAt, p.FirstByte.Milliseconds(), p.UpstreamID
	if p.DispatchedAt != 0 {
		a.DispatchedAt = p.DispatchedAt
	}
	if p.AnsweredAt != 0 {
		a.DurationMS = p.AnsweredAt.Sub(a.DispatchedAt).Milliseconds()
	}
	a.Usage = UsageShape(p.Usage)
}

// UsageShape is the contract's usage, nil when the answer said nothing.
func UsageShape(u *events.Usage) *Usage {
	if u == nil {
		return nil
	}
	opt := func(n events.OptInt) *int64 {
		if !n.Set {
			return nil
		}
		return &n.V
	}
	return &Usage{Input: opt(u.Input), CachedInput: opt(u.CachedInput), CacheWrite: opt(u.CacheWrite),
		Output: opt(u.Output), Reasoning: opt(u.Reasoning), Partial: u.Partial}
}

// sentence tells the dispatch and what came of it.
func (a *Attempt) sentence(asked string, e *events.Event, end *events.RequestEnded) string {
	s := fmt.Sprintf("Attempt %d went to %s", a.Attempt, a.Account)
	if a.Model != asked {
		s += " as model " + a.Model
	}
	if e == nil {
		return s + " and has not been answered."
	}
	took := Span(a.AnsweredAt.Sub(a.DispatchedAt))
	if p, ok := e.Data.(*events.AttemptSucceeded); ok {
		return s + fmt.Sprintf(" and was answered %d after %s%s.", p.Answer.Status, took, prefixed(", ", usageWords(p.Answer.Usage)))
	}
	f, _ := events.FailureOf(e.Data)
	return s + ": " + outcomeWords(f, took) + "; " + a.followedWords(f, end) + "."
}

// ruleStopped is the rule of an attempt that the gateway cut off when it stopped.
const ruleStopped = "gateway:stopped"

func outcomeWords(f *events.Failure, took string) string {
	switch f.Class {
	case events.ClassLost:
		if f.Rule == ruleStopped {
			return "the gateway stopped before it was over"
		}
		return "its process ended before it was answered"
	case events.ClassClientAborted:
		return "the client left after " + took
	}
	s := "no answer came within " + took
	switch broke := f.Class == events.ClassNetwork || f.Class == events.ClassTimeout; {
	case broke && f.Answer.Status != 0:
		s = fmt.Sprintf("its answer %d broke off after %s", f.Answer.Status, took)
	case f.Answer.Status != 0:
		s = fmt.Sprintf("it answered %d after %s", f.Answer.Status, took)
	}
	s += ", which is " + f.Class.String()
	if f.Rule != "" {
		s += " by rule " + f.Rule
	}
	if usage.PossiblyBilled(f) {
		s += " and may be billed"
	}
	return s
}

func (a *Attempt) followedWords(f *events.Failure, end *events.RequestEnded) string {
	switch {
	case a.Failover:
		return "another account was tried"
	case end != nil:
		return searchWords(f, end)
	case f.Followed.GoesOn():
		return "another account was looked for"
	case f.Reply != nil:
		return replyWords(f, f.Reply)
	case f.Committed:
		return "the client had a part of the answer already, and got its error event"
	case f.Class == events.ClassClientAborted:
		return "nobody is to blame"
	}
	return "nothing followed"
}

// searchWords tell of a search for another account that found nobody.
func searchWords(f *events.Failure, end *events.RequestEnded) string {
	switch end.Class {
	case events.ClassClientAborted:
		return "another account was looked for, and the client left meanwhile"
	case events.ClassLost:
		return "another account was looked for, and the process ended meanwhile"
	}
	return "another account was looked for and none was free, so " + replyWords(f, &end.Reply)
}

// replyWords tell what the client got for a failure.
func replyWords(f *events.Failure, r *events.Reply) string {
	switch {
	case r.Code != "":
		return fmt.Sprintf("the client got %d %s in its place%s", r.Status, r.Code, after(r))
	case r.Status == f.Answer.Status:
		return "the client got this answer" + after(r)
	}
	return fmt.Sprintf("the client got %d%s", r.Status, after(r))
}

func after(r *events.Reply) string {
	if r.RetryAfter == 0 {
		return ""
	}
	return retryAfter(r.RetryAfter, r.RetrySource)
}
