package gateway

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Why an attempt was cut off by us: the cause of its context.
var (
	errHeaderTimeout     = errors.New("header_timeout")
	errFirstTokenTimeout = errors.New("first_token_timeout")
	errIdleTimeout       = errors.New("idle_timeout")
	errMaxElapsed        = errors.New("max_elapsed")
	errLinger            = errors.New("upstream stayed open after the end")
	errAttemptOver       = errors.New("attempt is over")
)

// watch bounds one attempt: one context, one timer, a phase at a time. Moving
// the limit costs two stores; the timer itself is set again only when it fires
// too early or the limit comes nearer.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	start  time.Time
	limit  atomic.Int64 // nanoseconds since start
	armed  atomic.Int64 // what the timer was last set to
	cause  atomic.Pointer[error]
}

// newWatch starts with a first limit, after which the context ends with cause.
func newWatch(parent context.Context, limit time.Duration, cause *error) *watch {
	w := &watch{start: time.Now()}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.limit.Store(int64(limit))
	w.cause.Store(cause)
	w.armed.Store(int64(limit))
	w.timer = time.AfterFunc(limit, w.fire)
	return w
}

func (w *watch) fire() {
	limit := w.limit.Load()
	left := time.Duration(limit) - time.Since(w.start)
	if left > 0 {
		w.armed.Store(limit)
		w.timer.Reset(left)
		return
	}
	w.cancel(*w.cause.Load())
}

// elapsed is the time since the attempt began.
func (w *watch) elapsed() time.Duration { return time.Since(w.start) }

// until moves the limit to an instant counted from the attempt's begin.
func (w *watch) until(limit time.Duration, cause *error) {
	w.cause.Store(cause)
	w.limit.Store(int64(limit))
	if int64(limit) < w.armed.Load() {
		w.armed.Store(int64(limit))
		w.timer.Reset(limit - time.Since(w.start))
	}
}

// stop ends the attempt: its upstream connection is closed if it is still busy.
func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(errAttemptOver)
}

// why is what ended the context; nil while it lives.
func (w *watch) why() error { return context.Cause(w.ctx) }
