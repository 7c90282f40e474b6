package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
)

const (
	// holdLimit bounds what is held back before the first meaningful frame.
	holdLimit = 64 << 10
	// linger is how long a finished answer waits for its upstream to end the
	// body, so that the connection can be used again.
	linger = 150 * time.Millisecond
)

// stream relays an answer that grows. Until the first meaningful frame every
// byte is held back, in order, and any fault is a failover; from then on every
// read is written and flushed at once and nothing is retried.
type stream struct {
	*attempt
	fed        int64         // bytes that were judged, as the client gets them
	out        int64         // bytes given to the client
	allowed    time.Duration // when the write deadline was last moved
	allowedOut int64         // and how much had been given by then
	over       bool          // the inspector has seen the end
	rest       []byte        // fed and not yet given: held back, or an incomplete line
}

// relayStream returns nil when the client has been answered.
func (a *attempt) relayStream(src io.Reader) *failure {
	buf, held := buffers.Get().(*[]byte), contents.Get().(*content)
	s := &stream{attempt: a, rest: held.b}
	defer func() {
		buffers.Put(buf)
		if cap(s.rest) > cap(held.b) {
			held.b = s.rest
		}
		held.free()
	}()
	a.w.until(a.limit(a.Policy.FirstTokenTimeout, &errFirstTokenTimeout))
	for {
		n, err := src.Read(*buf)
		p, err := s.show((*buf)[:n], err)
		f, done := s.step(p, err)
		if f != nil || done {
			return f
		}
	}
}

// show lets the inspector see what was read, decoded, and gives back what the
// client is to get of it.
func (s *stream) show(p []byte, err error) ([]byte, error) {
	shown := p
	if c := s.coding; c != nil {
		shown, err = c.next(p, err)
		if !c.passes {
			p = shown
		}
	}
	s.fed += int64(len(p))
	if s.over {
		return p, err
	}
	if len(shown) > 0 {
		s.look.Feed(shown)
	}
	switch {
	case s.look.Seen().Over:
		s.over = true
		s.look.End(nil)
	case err != nil:
		s.over = true
		s.look.End(endOf(err))
	}
	return p, err
}

// endOf is how an inspector is told of the end of a body.
func endOf(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// step handles one read. done: the answer is over for the client.
func (s *stream) step(p []byte, err error) (f *failure, done bool) {
	seen := s.look.Seen()
	if !s.committed {
		s.rest = append(s.rest, p...)
		if f, ready := s.judge(seen, err); f != nil || !ready {
			return f, false
		}
		if f := s.commit(); f != nil {
			return f, false
		}
		p = nil
	}
	return nil, s.release(seen, p, err)
}

// judge decides what the held bytes amount to: a failure, enough to commit, or
// neither yet.
func (s *stream) judge(seen *dialect.Seen, err error) (f *failure, ready bool) {
	switch {
	case seen.Failed != nil:
		return s.errorFrame(seen.Failed), false
	case err != nil && !errors.Is(err, io.EOF) && seen.Terminal == "":
		return s.broken(err), false
	case seen.Malformed != "":
		return s.malformed(seen.Malformed, s.rest), false
	case seen.Meaningful:
		return nil, true
	case err != nil:
		return s.malformed(dialect.MalformedEmpty, s.rest), false
	case seen.Safe <= holdLimit:
		return nil, false // an incomplete line counts only once it is longer than that alone
	case s.spare && seen.Open != dialect.InLine && seen.Open != dialect.InElement:
		return s.malformed("long preamble", nil), false
	}
	// The last possible attempt is released as it comes; so is a frame that is
	// longer than everything that comes before content.
	return nil, true
}

// commit makes the answer the client's: the decision is durable before the
// first byte.
func (s *stream) commit() *failure {
	s.meaningful()
	if f := s.durable(); f != nil {
		return f
	}
	s.head()
	s.x.w.WriteHeader(s.x.status)
	return nil
}

// release gives the client what it may have. It records a terminal success
// before the bytes that tell of it leave.
func (s *stream) release(seen *dialect.Seen, p []byte, err error) (done bool) {
	if seen.Terminal != "" && (seen.Over || err != nil) {
		s.succeed(seen.Terminal)
	}
	if seen.Failed != nil && !s.recorded {
		s.rest = append(s.rest, p...)
		s.releaseError(seen)
		return true
	}
	if !s.write(seen.Safe, p) {
		s.clientLeft()
		return true
	}
	if err != nil {
		return s.ended(seen, err)
	}
	if !s.flush() {
		s.clientLeft()
		return true
	}
	if s.recorded || s.marked(seen) {
		s.w.until(s.w.elapsed()+linger, &errLinger)
	} else {
		s.w.until(s.w.elapsed()+s.Policy.IdleTimeout, &errIdleTimeout)
	}
	s.urge()
	return false
}

// urge moves the client's write deadline on, seldom: a short answer that fits
// the socket's buffers needs none.
func (s *stream) urge() {
	since := s.w.elapsed()
	if since-s.allowed < allowEvery && s.out-s.allowedOut < longAnswer {
		return
	}
	s.allowed, s.allowedOut = since, s.out
	s.x.allow(s.Policy.IdleTimeout)
}

// allowEvery is how often a long stream's write deadline is moved on.
const allowEvery = time.Second

// allow gives a client that long to take what is written next: one that has
// stopped reading must not hold its upstream and its slot for ever.
func (x *exchange) allow(d time.Duration) {
	x.patience = true
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(d + allowEvery))
}

// marked: a dialect without an end marker of its own has said why it stopped;
// what may still come is in flight already.
func (s *stream) marked(seen *dialect.Seen) bool {
	return seen.Stop != "" && s.x.speaks == events.DialectGemini && s.form() == dialect.SSE
}

// write gives the client everything up to safe; what lies beyond waits in rest.
func (s *stream) write(safe int64, p []byte) bool {
	if s.recorded || s.coding != nil && s.coding.passes {
		safe = s.fed // nothing more is judged, or compressed bytes have no lines
	}
	give := safe - s.out
	if n := int64(len(s.rest)); n > 0 && give > 0 {
		n = min(n, give)
		if !s.give(s.rest[:n]) {
			return false
		}
		s.rest = s.rest[:copy(s.rest, s.rest[n:])]
		give -= n
	}
	if give > 0 {
		n := min(give, int64(len(p)))
		if !s.give(p[:n]) {
			return false
		}
		p = p[n:]
	}
	s.rest = append(s.rest, p...)
	return true
}

func (s *stream) give(p []byte) bool {
	n, err := s.x.w.Write(p)
	s.out += int64(n)
	s.x.sent += int64(n)
	return err == nil
}

func (s *stream) flush() bool {
	return http.NewResponseController(s.x.w).Flush() == nil
}

// ended is the end of the body, clean or not.
func (s *stream) ended(seen *dialect.Seen, err error) (done bool) {
	if s.recorded {
		return true
	}
	var f *failure
	switch {
	case !errors.Is(err, io.EOF):
		f = s.broken(err)
	default:
		f = s.malformed(dialect.MalformedTruncated, nil)
	}
	if f.gone {
		s.clientLeft()
		return true
	}
	s.fail(f)
	s.breakOff(seen, f)
	return true
}

// clientLeft records that the client did not wait for the end, or that the
// gateway did not wait for a client that does not read.
func (a *attempt) clientLeft() {
	why := a.x.cut()
	if why == nil {
		why = &clientGone
	}
	a.w.stop()
	a.fail(cutOff(why, a.resp.StatusCode))
	if !a.succeeded {
		a.x.end = endAborted
	}
}
