package gateway

import (
	"bytes"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/redact"
	"github.com/waybill/waybill/projections/routing"
)

// durable is the output commit: in strict durability the decision is in the
// ledger before the first byte of its answer leaves.
func (a *attempt) durable() *failure {
	err := a.Durable(a.w.ctx)
	switch cut := a.x.cut(); {
	case err == nil:
		return nil
	case cut != nil:
		return cutOff(cut, a.resp.StatusCode)
	case a.w.why() != nil:
		return a.broken(err)
	}
	return &failure{ledger: true, status: a.resp.StatusCode, cause: err,
		finding: provider.Finding{Class: events.ClassLost, Rule: "gateway:ledger", Scope: requestScope}}
}

// head prepares the client's answer from the upstream's. From here on the
// attempt is committed.
func (a *attempt) head() {
	x := a.x
	inbound(x.w.Header(), a.resp.Header, a.token)
	if a.coding != nil && a.coding.passes {
		x.w.Header()["Content-Encoding"] = a.resp.Header["Content-Encoding"]
	}
	x.mark(a)
	x.status = a.resp.StatusCode
	a.committed = true
}

// mark names the account, where that is nobody's secret.
func (x *exchange) mark(a *attempt) {
	if x.cfg.ExposeAccount {
		x.w.Header()["Waybill-Account"] = []string{a.Account.ID}
	}
}

// bodyHead is what an event keeps of an error body.
func (a *attempt) bodyHead(body []byte) (string, events.Digest) {
	if len(body) == 0 {
		return "", events.Digest{}
	}
	return redact.Head(body, bodyHeadLimit, a.token), events.DigestOf("waybill body", string(body))
}

// bodyHeadLimit is the most that an event keeps, in bytes.
const bodyHeadLimit = 512

// releaseError passes an error frame that came after the commit point, without
// what it may say of the account, and ends the answer there.
func (s *stream) releaseError(seen *dialect.Seen) {
	f := s.errorFrame(seen.Failed)
	s.fail(f)
	s.x.end = endFailed
	if s.coding != nil && s.coding.passes {
		s.giveCoded(seen)
		return
	}
	s.rest = redactFrom(s.rest, seen.Failed, s.token)
	s.give(closed(s.rest, s.form()))
}

// closed ends the bytes after an error frame so that a client's parser has all
// of it.
func closed(p []byte, form dialect.Form) []byte {
	if form == dialect.Array {
		if p = bytes.TrimRight(p, " \t\r\n,"); !bytes.HasSuffix(p, []byte("]")) {
			p = append(p, ']')
		}
		return p
	}
	switch rest := bytes.TrimRight(p, "\r\n"); string(p[len(rest):]) {
	case "\n\n", "\r\n\r\n", "\r\r":
		return p // it ends with a blank line
	case "":
		if len(p) > 0 { // else the client has all but the blank line
			p = append(p, '\n')
		}
	}
	return append(p, '\n')
}

// redactFrom redacts the error in p and what follows it; what comes before is
// content, which is nobody's business. Where the error does not stand in one
// piece, all of p is redacted.
func redactFrom(p, failed []byte, token string) []byte {
	at := bytes.LastIndex(p, failed)
	if at < 0 || len(failed) == 0 {
		at = 0
	}
	return append(p[:at:at], redact.Bytes(p[at:], token)...)
}

// giveCoded passes a compressed error frame, if it says nothing of the account:
// compressed bytes cannot be redacted.
func (s *stream) giveCoded(seen *dialect.Seen) {
	if !bytes.Equal(redact.Bytes(seen.Failed, s.token), seen.Failed) {
		panic(http.ErrAbortHandler)
	}
	s.give(s.rest)
}

// breakOff ends a stream that broke after its commit point by the dialect's
// own error event, or, where its bytes cannot be ended so, by a cut.
func (s *stream) breakOff(seen *dialect.Seen, f *failure) {
	s.x.end = endFailed
	r := dialect.Refusal{Status: http.StatusBadGateway, Code: routing.CodeUpstream}
	if f.stopped {
		r = stopping()
	}
	r.Dialect, r.Request, r.Message = s.x.speaks, s.x.idText, s.x.story(f)
	end := dialect.BreakOff(s.x.route.Operation, s.form(), seen, &r)
	if end == nil || s.coding != nil && s.coding.passes {
		panic(http.ErrAbortHandler)
	}
	s.give(end)
}

// form is the shape of the bytes that the client is getting.
func (s *stream) form() dialect.Form {
	if mediaType(s.resp.Header) == "text/event-stream" {
		return dialect.SSE
	}
	return s.x.req.Form
}
