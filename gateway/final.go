package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/gateway/redact"
	"github.com/waybill/waybill/projections/routing"
)

// final gives the client the last answer of a request that nobody could serve
// (R17). left says when it is worth coming back.
func (x *exchange) final(left *routing.Refusal) {
	a, f := x.tries.last, x.tries.why
	ctx, done := x.recording()
	defer done()
	if err := a.Durable(ctx); err != nil { // an error is an answer too: no first byte before its decision
		x.undecided(err)
		return
	}
	advice := x.advice(f, left)
	x.end = endFailed
	if advice.Replaced || !f.presentable() {
		x.refuse(x.ownWords(f, advice))
		return
	}
	x.pass(a, f, advice)
}

// advice is what the client gets for a failure.
func (x *exchange) advice(f *failure, left *routing.Refusal) routing.Advice {
	return routing.Advise(routing.Last{Class: f.finding.Class, Status: f.seenStatus(x.speaks), Empty: f.empty()}, left)
}

// ownWords stand in for an answer that cannot be passed on.
func (x *exchange) ownWords(f *failure, advice routing.Advice) dialect.Refusal {
	code := advice.Code
	if code == "" {
		code = routing.CodeUpstream
	}
	return dialect.Refusal{Code: code, Status: advice.Status, RetryAfter: advice.RetryAfter, Message: x.story(f)}
}

// story is what happened, for people.
func (x *exchange) story(f *failure) string {
	switch {
	case f.stopped:
		return ErrStopping.Error() + ", and the answer ends here"
	case f.finding.Class == events.ClassTimeout:
		return "no upstream answered in time (" + f.finding.Rule + "); " + x.tried()
	case f.finding.Class == events.ClassNetwork:
		return "the upstream could not be reached or broke off (" + f.finding.Rule + "); " + x.tried()
	case f.malformed != "":
		return fmt.Sprintf("the upstream answered %d without an answer (%s); %s", f.status, f.malformed, x.tried())
	case f.status == 0:
		return "the request could not be sent (" + f.finding.Rule + "); " + x.tried()
	case routing.OfAccount(f.finding.Class):
		return "no account could serve this request; " + x.tried()
	}
	return fmt.Sprintf("the upstream answered %d (%s); %s", f.status, f.finding.Class, x.tried())
}

// presentable says that the upstream's own error can be given to the client.
func (f *failure) presentable() bool { return f.whole && !f.frame && json.Valid(f.body) }

// empty: a 200 without content.
func (f *failure) empty() bool {
	return f.malformed == dialect.MalformedEmpty || f.malformed == dialect.MalformedNoAnswer
}

// seenStatus is the status that an answer amounts to.
func (f *failure) seenStatus(d events.Dialect) int {
	if f.frame {
		return statusOfClass(d, f.finding.Class)
	}
	return f.status
}

// tried tells how many accounts were asked.
func (x *exchange) tried() string {
	if n := len(x.tries.tried); n != 1 {
		return strconv.Itoa(n) + " accounts were tried"
	}
	return "1 account was tried"
}

// statusOfClass is for an error inside a 200 that nobody has seen yet: the
// client gets the status that it would have had.
func statusOfClass(d events.Dialect, c events.Class) int {
	switch c {
	case events.ClassRateLimited, events.ClassWindowExhausted:
		return http.StatusTooManyRequests
	case events.ClassOverloaded:
		if d == events.DialectAnthropic {
			return 529
		}
		return http.StatusServiceUnavailable
	case events.ClassInvalidRequest, events.ClassPolicyRefused:
		return http.StatusBadRequest
	case events.ClassNotFound, events.ClassModelUnsupported:
		return http.StatusNotFound
	}
	return http.StatusBadGateway
}

// pass gives the client the upstream's own error, without what it may say of
// the account.
func (x *exchange) pass(a *attempt, f *failure, advice routing.Advice) {
	h := x.w.Header()
	inbound(h, f.header, a.token)
	delete(h, "Content-Encoding")
	x.mark(a)
	dialect.SetRetry(h, advice.RetryAfter)
	body := redact.Bytes(f.body, a.token)
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.status = advice.Status
	x.w.WriteHeader(advice.Status)
	n, err := x.w.Write(body)
	x.sent += int64(n)
	if err != nil {
		x.end = endAborted
	}
}
