package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/wire"
)

// dispatch sends the request to the attempt's account and waits for the head
// of an answer. A 401 asks once for another credential, and once more upstream
// where there is one (R11).
func (a *attempt) dispatch() *failure {
	if a.token, _ = a.up.Credential.Token(); a.token == "" && !a.up.keyless() {
		if !a.up.Credential.Refresh(a.w.ctx, "") {
			return a.verdict(noCredential)
		}
		a.renew()
	}
	f := a.send()
	if f != nil || a.resp.StatusCode != http.StatusUnauthorized || !a.up.Credential.Refresh(a.w.ctx, a.token) {
		return f
	}
	drain(a.resp.Body)
	a.resp.Body.Close()
	a.resp = nil
	a.renew()
	return a.send()
}

// noCredential: the account's secret has not come, so nothing is sent to it. It
// waits as it would after a 401 (R11), and a credential that comes ends that.
var noCredential = provider.Finding{Class: events.ClassAuthFailed, Rule: "credential:none", Scope: accountScope, Failover: provider.Always}

// renew takes the credential that a refresh has brought, and records its epoch
// before it is used: evidence about the old one no longer counts.
func (a *attempt) renew() {
	token, epoch := a.up.Credential.Token()
	a.token = token
	if err := a.x.g.engine.Renew(a.w.ctx, a.Account.ID, epoch); err != nil {
		a.x.g.log.Warn("a new credential's epoch could not be recorded", "account", a.Account.ID, "error", err)
	}
	a.Under(epoch)
}

func (a *attempt) send() *failure {
	req, err := a.request()
	if err != nil {
		return a.local("gateway:body", err)
	}
	if a.answer.DispatchedAt == 0 {
		a.answer.DispatchedAt = a.x.g.engine.Now()
	}
	resp, err := a.up.endpoint(&a.x.g.pools, a.Policy.ConnectTimeout).Send(a.w.ctx, req) //nolint:bodyclose // the attempt closes it when it ends
	if err != nil {
		return a.broken(err)
	}
	a.resp = resp
	return nil
}

// request makes the upstream's request from the client's original bytes and
// headers, every time anew.
func (a *attempt) request() (*http.Request, error) {
	x := a.x
	content, length := x.content(a.Model)
	target, err := a.up.target(x.route, a.Model, &x.head)
	if err != nil {
		return nil, err
	}
	req := &http.Request{
		Method: x.route.Method, URL: target,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: outbound(x.r.Header, a.up, x.speaks, a.token),
		Body:   content, ContentLength: length, Host: a.up.host,
	}
	if content != nil && x.r.Header["Idempotency-Key"] == nil && x.r.Header["X-Idempotency-Key"] == nil {
		// Lets the transport take another connection when an idle one turns out
		// to be closed before anything was written. With an idempotency key it
		// would also repeat a request that was read: that is ours to decide.
		req.GetBody = func() (io.ReadCloser, error) {
			c, _ := x.content(a.Model)
			return c, nil
		}
	}
	return req, nil
}

// broken is what a failed round trip or a broken body means.
func (a *attempt) broken(err error) *failure {
	f := &failure{cause: err}
	if a.resp != nil {
		f.status = a.resp.StatusCode
	}
	if cut := a.x.cut(); cut != nil {
		return cutOff(cut, f.status)
	}
	switch why := a.w.why(); {
	case why != nil:
		f.finding = provider.Finding{Class: events.ClassTimeout, Rule: "timeout:" + why.Error(), Scope: accountScope}
	default:
		f.finding = networkFinding(err)
	}
	return f
}

var (
	accountScope  = events.Scope{Kind: events.ScopeAccount}
	endpointScope = events.Scope{Kind: events.ScopeEndpoint}
	requestScope  = events.Scope{Kind: events.ScopeRequest}
)

// networkFinding: a host that cannot be reached says nothing of an account; a
// connection that breaks may.
func networkFinding(err error) provider.Finding {
	var u *wire.Unreachable
	if errors.As(err, &u) {
		return provider.Finding{Class: events.ClassNetwork, Rule: "network:" + u.Step, Scope: endpointScope}
	}
	rule := "network:broken"
	var op *net.OpError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		rule = "network:eof"
	case errors.As(err, &op):
		rule = "network:" + op.Op
	}
	return provider.Finding{Class: events.ClassNetwork, Rule: rule, Scope: accountScope}
}

// local is a failure of ours: nothing was dispatched, nobody is at fault.
func (a *attempt) local(rule string, err error) *failure {
	return &failure{cause: err, finding: provider.Finding{Class: events.ClassUnclassified, Rule: rule, Scope: requestScope, Failover: provider.Always}}
}

// limit is a phase's bound, cut where max_elapsed ends first.
func (a *attempt) limit(phase time.Duration, cause *error) (time.Duration, *error) {
	return a.limitFrom(a.w.start, phase, cause)
}

func (a *attempt) limitFrom(start time.Time, phase time.Duration, cause *error) (time.Duration, *error) {
	left := a.Policy.MaxElapsed - start.Sub(a.x.begun)
	if a.Policy.MaxElapsed > 0 && left < phase {
		return max(left, 0), &errMaxElapsed
	}
	return phase, cause
}

// startWatch bounds the attempt until its headers are there.
func (a *attempt) startWatch(parent context.Context) {
	limit, cause := a.limitFrom(time.Now(), a.Policy.HeaderTimeout, &errHeaderTimeout)
	a.w = newWatch(parent, limit, cause)
}

// headLimit is how much of an error body is read and kept.
const headLimit = 64 << 10

// drain reads a little of a body that nobody wants, so that its connection can
// be used again.
func drain(r io.Reader) { _, _ = io.CopyN(io.Discard, r, headLimit) }
