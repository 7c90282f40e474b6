package gateway

import (
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/waybill/waybill/gateway/dialect"
)

// errTooLarge: an answer beyond max_body.
var errTooLarge = errors.New("answer is larger than max_body")

// relayWhole reads an answer that is no stream to its end, checks it, and only
// then lets the client have it. It returns nil when the client has been
// answered.
func (a *attempt) relayWhole(src io.Reader, length int64) *failure {
	a.w.until(a.limit(a.Policy.FirstTokenTimeout, &errFirstTokenTimeout))
	c := contents.Get().(*content)
	defer c.free()
	err := a.readWhole(c, src, length)
	plain := c.b
	if a.coding != nil && err == nil {
		plain, err = a.coding.all(c.b)
	}
	if errors.Is(err, errTooLarge) {
		return a.malformed("larger than max_body", nil)
	}
	a.look.Feed(plain)
	a.look.End(err)
	seen := a.look.Seen()
	switch {
	case seen.Failed != nil:
		return a.errorFrame(seen.Failed)
	case err != nil && seen.Terminal == "":
		return a.broken(err)
	case seen.Malformed != "":
		return a.noAnswer(seen.Malformed, plain)
	case seen.Terminal == "":
		return a.malformed(dialect.MalformedTruncated, plain)
	}
	a.meaningful()
	if f := a.durable(); f != nil {
		return f
	}
	a.succeed(seen.Terminal)
	if a.coding == nil || !a.coding.passes {
		a.deliver(plain)
	} else {
		a.deliver(c.b)
	}
	return nil
}

// deliver sends a checked answer.
func (a *attempt) deliver(b []byte) {
	x := a.x
	a.head()
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(b))}
	if len(b) > longAnswer {
		x.allow(a.Policy.IdleTimeout + time.Duration(len(b)/slowest)*time.Second)
	}
	x.w.WriteHeader(x.status)
	n, err := x.w.Write(b)
	x.sent += int64(n)
	x.end = endServed
	if err != nil {
		x.end = endAborted
	}
}

// An answer beyond longAnswer may not fit the socket's buffers; a client that
// takes fewer than slowest bytes a second is taken to have stopped.
const (
	longAnswer = 64 << 10
	slowest    = 16 << 10
)

// readWhole reads up to max_body. What was read stays in c with an error, too.
func (a *attempt) readWhole(c *content, src io.Reader, length int64) error {
	limit := int64(a.Policy.MaxBody)
	if length > limit {
		return errTooLarge
	}
	c.reserve(length)
	for {
		if len(c.b) == cap(c.b) {
			c.grow(limit)
		}
		n, err := src.Read(c.b[len(c.b):cap(c.b)])
		c.b = c.b[:len(c.b)+n]
		switch {
		case int64(len(c.b)) > limit:
			return errTooLarge
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		a.w.until(a.w.elapsed()+a.Policy.IdleTimeout, &errIdleTimeout)
	}
}
