package engine

import (
	"github.com/waybill/waybill/events"
)

// TurnAway records the refusal of a request that no decision was asked for: it
// cannot be read, is too large, or its client is beyond its own limits. The
// event names no rules version, so nothing is derived again. It has a row like
// any refusal (I6).
func (e *Engine) TurnAway(ask Ask, code string, status uint32, retryAfter int64) (*Refusal, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.nowFunc()
	if err := e.admits(); err != nil {
		return nil, err
	}
	r := &Refusal{Stamp: events.Stamp{
		DecidedAt: now, View: e.live.Position(), Pending: e.live.Own(),
		Client: ask.Client, Dialect: ask.Dialect, Asked: ask.Model, Session: ask.Session,
	}}
	r.Code, r.Status, r.RetryAfter = code, int(status), retryAfter
	p := &events.RequestRefused{Stamp: r.Stamp, Code: code, Status: status, RetryAfter: retryAfter}
	t, err := e.record(e.decisionUrgency(), events.Draft{Header: events.Header{Request: ask.Request}, Data: p})
	r.commit = e.commitOf(t)
	return r, err
}
