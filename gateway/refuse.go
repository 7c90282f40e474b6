package gateway

import (
	"net/http"
	"strings"

	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/gateway/engine"
)

// refuse sends an answer that Waybill makes itself, by the one writer of such
// answers.
func (x *exchange) refuse(r dialect.Refusal) {
	r.Dialect, r.Request = x.speaks, x.idText
	if r.RetryAfter > 0 && codexClient(x.r.Header) {
		r.ResetsAt = x.g.engine.Now().Std().Unix() + r.RetryAfter
	}
	x.status, x.code = r.Status, r.Code
	if x.end == "" {
		x.end = endRefused
	}
	r.Write(x.w)
}

// codexClient: the Codex command line and its relatives name themselves.
func codexClient(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(h.Get("Originator")), "codex") || strings.HasPrefix(strings.ToLower(h.Get("User-Agent")), "codex")
}

// badRequest refuses a request because of what it is.
func (x *exchange) badRequest(err *dialect.Error) {
	x.turnAway(dialect.RefusalOf(x.speaks, err, x.idText))
}

// turnAway records and sends a refusal that needs no decision. The client is
// told in any case: it is at fault, whatever becomes of the ledger.
func (x *exchange) turnAway(r dialect.Refusal) {
	ask := x.ask()
	if ask.Model == "" {
		ask.Model = x.vars["model"]
	}
	ctx, done := x.recording()
	defer done()
	recorded, err := x.g.engine.TurnAway(ask, r.Code, uint32(r.Status), r.RetryAfter)
	if err == nil {
		err = recorded.Durable(ctx)
	}
	if err != nil {
		x.g.log.Warn("a refusal could not be recorded", "request", x.idText, "error", err)
	}
	x.refuse(r)
}

// ledgerDown: what cannot be recorded is not served.
func ledgerDown() dialect.Refusal {
	return dialect.Refusal{Code: "ledger_unavailable", Status: http.StatusServiceUnavailable, RetryAfter: 1,
		Message: "the ledger cannot record decisions now"}
}

// internal: a fault of ours.
func internal() dialect.Refusal {
	return dialect.Refusal{Code: "internal", Status: http.StatusInternalServerError, Message: "the gateway failed on this request"}
}

// unrecorded ends a request whose next decision cannot be recorded.
func (x *exchange) unrecorded() {
	x.end = endFailed
	r := ledgerDown()
	x.searched(x.tries.class, ownReply(r))
	x.refuse(r)
}

// refused sends a recorded refusal, or, where an attempt was made, its answer.
func (x *exchange) refused(r *engine.Refusal) {
	if t := &x.tries; t.last != nil {
		x.searched(t.class, *x.replyFor(t.why, r))
		x.final(&r.Refusal)
		return
	}
	ctx, done := x.recording()
	defer done()
	if err := r.Durable(ctx); err != nil {
		x.undecided(err)
		return
	}
	x.refuse(dialect.Refusal{Code: r.Code, Status: r.Status, RetryAfter: r.RetryAfter, Message: r.Message})
}

// How a request ended, for the log line and the metrics.
const (
	endServed  = "served"
	endFailed  = "failed"
	endRefused = "refused"
	endAborted = "aborted"
)
