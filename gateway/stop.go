package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/gateway/provider"
)

// ErrStopping is the cause that the server gives its requests' contexts when it
// stops and can wait for them no longer: they end with an answer, and what is
// recorded does not blame the client.
var ErrStopping = errors.New("the gateway is stopping")

var (
	clientGone = provider.Finding{Class: events.ClassClientAborted, Rule: "client:gone", Scope: requestScope}
	stopped    = provider.Finding{Class: events.ClassLost, Rule: "gateway:stopped", Scope: requestScope}
)

// cut says why a request's own context has ended: its client left, or the
// gateway stops. nil while it lives.
func (x *exchange) cut() *provider.Finding {
	ctx := x.r.Context()
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(context.Cause(ctx), ErrStopping):
		return &stopped
	}
	return &clientGone
}

// cutOff is a failure of a request whose context has ended.
func cutOff(why *provider.Finding, status int) *failure {
	return &failure{finding: *why, status: status, gone: why == &clientGone, stopped: why == &stopped}
}

// stopping is what a client gets instead of an answer that has not begun.
func stopping() dialect.Refusal {
	return dialect.Refusal{Code: "stopping", Status: http.StatusServiceUnavailable, RetryAfter: 1, Message: ErrStopping.Error()}
}

// turnedAwayByStop ends a request that waits for a decision.
func (x *exchange) turnedAwayByStop() {
	r := stopping()
	if x.tries.last == nil {
		x.turnAway(r)
		return
	}
	x.end = endFailed
	x.searched(events.ClassLost, ownReply(r))
	x.refuse(r)
}

// ownReply is an answer of ours as the ledger keeps it.
func ownReply(r dialect.Refusal) events.Reply {
	return events.Reply{Status: uint32(r.Status), Code: r.Code, RetryAfter: r.RetryAfter}
}

// recordTime is how long a refusal may take to be recorded once nobody waits
// for the request any more.
const recordTime = time.Second

// recording is a request's context for what must be recorded even while the
// gateway stops.
func (x *exchange) recording() (context.Context, context.CancelFunc) {
	ctx := x.r.Context()
	if x.cut() == &stopped {
		return context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	}
	return ctx, func() {}
}
