package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/projections/routing"
)

// relay walks the accounts: decide, dispatch, observe, until one of them has
// answered the client or nobody is left.
func (x *exchange) relay() {
	var next *engine.Attempt // decided together with the failure of the one before
	for {
		if next == nil {
			if next = x.decide(); next == nil {
				return
			}
		}
		a := x.begin(next)
		f := a.run()
		x.tries.current = nil
		if f == nil {
			return
		}
		var over bool
		if next, over = x.settle(a, f); over {
			return
		}
	}
}

// decide asks for an attempt; nil when the request is over without one.
func (x *exchange) decide() *engine.Attempt {
	next, refusal, err := x.g.engine.Decide(x.r.Context(), x.ask())
	switch {
	case err != nil:
		x.undecided(err)
	case refusal != nil:
		x.refused(refusal)
	}
	return next
}

// ask is the request's wish for its next attempt.
func (x *exchange) ask() engine.Ask {
	t := &x.tries
	return engine.Ask{
		Request: x.id, Attempt: uint32(len(t.tried) + 1), Client: x.client.ID, Dialect: x.speaks, Model: x.req.Model,
		Session: x.session, Tie: x.tie, Tried: t.tried, Avoid: t.avoid, Tested: t.tested,
		Answered: t.last != nil,
	}
}

// begin is a decided attempt, its clock running.
func (x *exchange) begin(att *engine.Attempt) *attempt {
	a := &attempt{Attempt: att, x: x, up: x.upstream(att.Account.ID), spare: att.Decision.Spare}
	t := &x.tries
	t.current, t.account, t.search = a, att.Account.ID, false
	t.tried = append(t.tried, att.Account.No)
	t.tested = t.tested || att.Decision.Trial != nil
	a.startWatch(x.r.Context())
	return a
}

// upstream is where an account is asked, nil for one that is gone. A request
// may be sent to an account that came with a configuration newer than its own.
func (x *exchange) upstream(id string) *upstream {
	for _, c := range []*setup{x.cfg, x.g.config.Load()} {
		if u := c.accounts[id]; u != nil {
			return u.speaking(x.speaks)
		}
	}
	return nil
}

// run is one dispatch and what comes of it: nil when the client has been
// answered. The upstream's connection is given up, whatever is left of it,
// before run returns: nothing runs on while the next account is asked (B067).
func (a *attempt) run() *failure {
	defer a.close()
	if a.up == nil {
		return a.local("gateway:account_gone", errors.New("the account is no longer configured"))
	}
	if f := a.dispatch(); f != nil {
		return f
	}
	a.observeHead()
	if a.resp.StatusCode < 200 || a.resp.StatusCode > 299 {
		return a.statusFailure()
	}
	var err error
	if a.coding, err = a.newCoding(); err != nil {
		return a.malformed("unreadable coding", nil)
	}
	a.look = a.x.route.Inspect(a.x.req.Form, a.resp.Header.Get("Content-Type"))
	if a.grows() {
		return a.relayStream(a.resp.Body)
	}
	return a.relayWhole(a.resp.Body, a.resp.ContentLength)
}

// close gives up what the attempt holds of its upstream.
func (a *attempt) close() {
	a.w.stop()
	if a.resp != nil {
		a.resp.Body.Close()
	}
	if a.coding != nil {
		_ = a.coding.close() // told where it mattered
	}
}

// settle records a failed attempt. It says whether the request is over, and
// gives the next attempt where that is decided already.
func (x *exchange) settle(a *attempt, f *failure) (next *engine.Attempt, over bool) {
	t := &x.tries
	switch {
	case f.gone:
		a.fail(f)
		x.end = endAborted
		return nil, true
	case f.stopped:
		x.giveUp(a, f, stopping())
		return nil, true
	case f.ledger:
		x.giveUp(a, f, ledgerDown())
		return nil, true
	}
	t.last, t.why = a, f
	next, left := a.failOver(f, x.mayGoOn(a, f))
	if left == nil {
		t.search = next == nil
		return next, false
	}
	x.final(&left.Refusal)
	return nil, true
}

// giveUp ends a request by a fault or a stop of ours.
func (x *exchange) giveUp(a *attempt, f *failure, r dialect.Refusal) {
	reply := ownReply(r)
	f.reply = &reply
	a.fail(f)
	x.end = endFailed
	x.refuse(r)
}

// searched records what became of a search for another account that found
// nobody. Nothing is recorded where the last outcome's event says it all.
func (x *exchange) searched(c events.Class, reply events.Reply) {
	t := &x.tries
	if !t.search {
		return
	}
	t.search = false
	x.g.engine.Ended(x.ask(), events.RequestEnded{Class: c, Reply: reply})
}

// replyFor is what the client gets for a failure, as the ledger keeps it.
func (x *exchange) replyFor(f *failure, left *engine.Refusal) *events.Reply {
	advice := x.advice(f, &left.Refusal)
	reply := &events.Reply{Status: uint32(advice.Status), RetryAfter: advice.RetryAfter, RetrySource: advice.RetrySource, Left: left.Left()}
	if advice.Refusal {
		reply.Code = advice.Code
	}
	return reply
}

// mayGoOn says whether another account may be asked, and keeps in mind what
// the answer rules out.
func (x *exchange) mayGoOn(a *attempt, f *failure) bool {
	t := &x.tries
	t.walked.Attempts = append(t.walked.Attempts, routing.Made{
		Account: a.Account.No, Class: f.finding.Class, Status: f.status, Onward: routing.Onward(f.finding.Failover), ShouldRetry: f.shouldRetry,
	})
	t.walked.Elapsed, t.walked.Tied = time.Since(x.begun), x.tie != 0
	if f.finding.Failover == provider.OtherEndpoint {
		t.avoid = append(t.avoid, a.Account.Settings.Endpoint)
	}
	return routing.MayFailover(&t.walked, a.Policy) == routing.GoesOn
}

// undecided: there will be no decision.
func (x *exchange) undecided(err error) {
	switch cut := x.cut(); {
	case cut == &stopped:
		x.turnedAwayByStop()
	case cut != nil || errors.Is(err, context.Canceled):
		x.end = endAborted
		x.searched(events.ClassClientAborted, events.Reply{})
	default:
		x.g.log.Error("decision failed", "request", x.idText, "error", err)
		x.unrecorded()
	}
}
