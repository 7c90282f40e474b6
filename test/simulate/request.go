package simulate

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
)

// request is one client's request and how far it is.
type request struct {
	no    int
	id    uuid.UUID
	proc  *process
	ask   engine.Ask
	ctx   context.Context
	leave context.CancelFunc

	attempt    *engine.Attempt // under way
	last       *engine.Attempt // the newest that was made
	lastTry    uint32
	dispatched events.Time
	waiting    bool // for the decision to be durable
	streaming  bool // its first byte has left
	search     bool // another account is looked for
	over       bool
}

// send makes a client ask a gateway.
func (w *world) send(g *gateway, model, session uint32) {
	p := g.proc
	if p == nil || p.engine == nil {
		return
	}
	r := &request{no: len(w.requests) + 1, proc: p}
	binary.BigEndian.PutUint64(r.id[:8], w.seed)
	binary.BigEndian.PutUint64(r.id[8:], uint64(r.no))
	r.ctx, r.leave = context.WithCancel(p.life)
	r.ask = engine.Ask{Request: r.id, Attempt: 1, Client: "c", Dialect: events.DialectOpenAI, Model: models[model%uint32(len(models))]}
	if s := session % 5; s < 3 {
		r.ask.Session = events.SessionDigest("c", fmt.Sprint("s", s))
	}
	w.requests = append(w.requests, r)
	w.note("request %d to g%d for %s, session %d", r.no, g.no, r.ask.Model, session%5)
	p.queue = append(p.queue, r)
	w.pump(p)
	w.settle()
}

// pump lets the next request of a process be decided. One is decided at a time:
// two that wait for the same thing would go on in the scheduler's order.
func (w *world) pump(p *process) {
	if p.deciding != nil || len(p.queue) == 0 || p.engine == nil || p.dead() {
		return
	}
	r := p.queue[0]
	p.queue = p.queue[1:]
	p.deciding = r
	go func() {
		a, refusal, err := p.engine.Decide(r.ctx, r.ask)
		w.desk.tell(r.no, func() { w.decided(r, a, refusal, err) })
	}()
}

func (w *world) decided(r *request, a *engine.Attempt, refusal *engine.Refusal, err error) {
	p := r.proc
	if p.dead() {
		return
	}
	p.deciding = nil
	switch {
	case err != nil:
		w.note("request %d: %v", r.no, err)
		w.giveUp(r)
		w.end(r, "undecided")
	case refusal != nil && r.ask.Answered: // nobody is left: the last answer is the client's
		w.note("request %d: nobody is left", r.no)
		w.giveUp(r)
		w.durable(r, r.last.Durable, func() {
			w.laws.acknowledged(r, false)
			w.end(r, "failed")
		})
	case refusal != nil:
		w.note("request %d is refused: %s", r.no, refusal.Code)
		w.durable(r, refusal.Durable, func() {
			w.laws.acknowledged(r, true)
			w.end(r, "refused")
		})
	default:
		w.begin(r, a)
	}
	w.pump(p)
}

// begin is an attempt that was decided.
func (w *world) begin(r *request, a *engine.Attempt) {
	w.note("request %d goes to %s%s", r.no, a.Account.ID, trialNote(a))
	r.search = false
	r.attempt, r.last, r.lastTry, r.dispatched = a, a, r.ask.Attempt, r.proc.engine.Now()
	w.open = append(w.open, r)
	w.laws.dispatched(r)
	if r.over { // the client left meanwhile
		w.abort(r)
	}
}

// giveUp ends a search for another account that found nobody.
func (w *world) giveUp(r *request) {
	if r.search && !r.proc.dead() {
		r.search = false
		r.proc.engine.Ended(r.ask, events.RequestEnded{Class: events.ClassServerError, Reply: events.Reply{Status: 503}})
	}
}

func trialNote(a *engine.Attempt) string {
	if a.Decision.Trial == nil {
		return ""
	}
	return fmt.Sprintf(" as the trial of %v", a.Decision.Trial.Cells)
}

// durable calls then once what was decided is durable; the client gets an error
// when it cannot be.
func (w *world) durable(r *request, wait func(context.Context) error, then func()) {
	r.waiting = true
	go func() {
		err := wait(r.ctx)
		w.desk.tell(r.no, func() {
			r.waiting = false
			if r.proc.dead() || r.over {
				return
			}
			if err != nil {
				w.note("request %d: not durable: %v", r.no, err)
				w.unrecorded(r)
				return
			}
			then()
		})
	}()
}

// unrecorded is a decision that cannot be made durable: nothing of it leaves.
func (w *world) unrecorded(r *request) {
	if r.attempt != nil {
		w.outcome(r, func(a *engine.Attempt) {
			a.Failed(events.Failure{Class: events.ClassLost, Rule: "gateway:ledger", Scope: events.Scope{Kind: events.ScopeRequest}, Answer: r.answer(w, 200, 0)})
		})
	}
	w.end(r, "not recorded")
}

// answer is what an outcome says of the upstream's answer.
func (r *request) answer(w *world, status, ago uint32) events.Answer {
	now := r.proc.engine.Now()
	at := max(r.dispatched, now.Add(-time.Duration(ago%400)*time.Millisecond))
	return events.Answer{Status: status, DispatchedAt: r.dispatched, AnsweredAt: at}
}

// outcome records an attempt's end, once.
func (w *world) outcome(r *request, record func(*engine.Attempt)) {
	a := r.attempt
	r.attempt = nil
	w.open = slices.DeleteFunc(w.open, func(x *request) bool { return x == r })
	w.laws.ended(r, a)
	record(a)
}

// reply is the upstream's next word to a request.
func (w *world) reply(r *request, roll uint32) {
	if r.waiting || r.attempt == nil || r.proc.dead() {
		return
	}
	u := w.upstreams[r.attempt.Account.ID]
	if r.streaming {
		w.finishStream(r, u)
		w.settle()
		return
	}
	f, goesOn, fails := u.refusal(r.attempt.Model)
	if fails {
		w.refuseAttempt(r, f, goesOn, roll)
		w.settle()
		return
	}
	w.note("request %d: %s begins to answer", r.no, r.attempt.Account.ID)
	r.attempt.Passed(r.proc.engine.Now())
	w.laws.passed(r, r.attempt)
	w.laws.served(r.attempt.Account.ID)
	w.durable(r, r.attempt.Durable, func() {
		w.laws.acknowledged(r, false)
		if r.streaming = roll%3 == 0 || u.mode == "cuts streams"; !r.streaming {
			w.succeed(r, roll)
		}
	})
	w.settle()
}

func (w *world) finishStream(r *request, u *upstream) {
	if u.mode == "cuts streams" || u.mode == "unreachable" {
		w.note("request %d: the stream breaks", r.no)
		w.outcome(r, func(a *engine.Attempt) {
			a.Failed(events.Failure{Class: events.ClassNetwork, Rule: "simulated:cut", Scope: events.Scope{Kind: events.ScopeAccount}, Committed: true, Answer: r.answer(w, 200, 0)})
		})
		w.end(r, "broken")
		return
	}
	w.succeed(r, 0)
}

func (w *world) succeed(r *request, roll uint32) {
	w.note("request %d is served by %s", r.no, r.attempt.Account.ID)
	answer := r.answer(w, 200, roll>>8)
	if roll%7 == 0 { // served, and says that it is spent: on credits perhaps
		answer.Reading = &reading(0, roll>>4, r.proc.engine.Now()).Reading
	}
	w.laws.served(r.attempt.Account.ID)
	w.outcome(r, func(a *engine.Attempt) { a.Succeeded(answer, "stop") })
	w.end(r, "served")
}

// refuseAttempt fails an attempt before its first byte, and asks for the next.
func (w *world) refuseAttempt(r *request, f events.Failure, goesOn bool, roll uint32) {
	a := r.attempt
	f.Answer = r.answer(w, f.Answer.Status, roll)
	next := r.ask
	next.Attempt++
	next.Tried = append(slices.Clone(r.ask.Tried), a.Account.No)
	next.Tested = next.Tested || a.Decision.Trial != nil
	next.Answered = true
	goesOn = goesOn && r.ask.Attempt < a.Policy.MaxAttempts
	w.note("request %d: %s answers %s (%d)", r.no, a.Account.ID, f.Class, f.Answer.Status)
	var left *engine.Refusal
	var found *engine.Attempt
	w.outcome(r, func(a *engine.Attempt) {
		found, left = a.FailedOver(f, next, goesOn, func(left *engine.Refusal) *events.Reply {
			return &events.Reply{Status: f.Answer.Status, Left: left.Left()}
		})
	})
	w.laws.failed(r, a, &f)
	if found != nil {
		r.ask = next
		w.begin(r, found)
		return
	}
	if left == nil {
		r.ask, r.search = next, true
		r.proc.queue = append(r.proc.queue, r)
		w.pump(r.proc)
		return
	}
	w.durable(r, a.Durable, func() {
		w.laws.acknowledged(r, false)
		w.end(r, "failed")
	})
}

// leave is a client that goes away.
func (w *world) leave(r *request) {
	if r.over {
		return
	}
	w.note("the client of request %d leaves", r.no)
	w.end(r, "left")
	if r.attempt != nil {
		w.abort(r)
	}
	w.settle()
}

func (w *world) abort(r *request) {
	w.outcome(r, func(a *engine.Attempt) {
		a.Failed(events.Failure{Class: events.ClassClientAborted, Rule: "client", Scope: events.Scope{Kind: events.ScopeRequest}, Committed: r.streaming, Answer: r.answer(w, 0, 0)})
	})
}

// end is the end of a request for its client.
func (w *world) end(r *request, how string) {
	if r.over {
		return
	}
	r.over = true
	r.leave()
	w.note("request %d is over: %s", r.no, how)
	if slices.Contains(r.proc.queue, r) {
		r.proc.queue = slices.DeleteFunc(r.proc.queue, func(x *request) bool { return x == r })
		w.giveUp(r)
	}
	if r.proc.dead() {
		r.attempt = nil
		w.open = slices.DeleteFunc(w.open, func(x *request) bool { return x == r })
	}
}
