package gateway

import (
	"errors"
	"io"
	"strings"

	"github.com/waybill/waybill/gateway/body"
)

// coding is how an answer's bytes are compressed, and what the client gets of
// them: the bytes as they are where it asked for this coding, else plain ones.
type coding struct {
	name   string
	passes bool // the client takes the coding: bytes pass untouched
	tee    *body.Tee
	plain  []byte // decoded by the last write
	limit  int    // of plain
	err    error
}

// newCoding looks at an answer's Content-Encoding; nil for plain bytes.
func (a *attempt) newCoding() (*coding, error) {
	v := a.resp.Header["Content-Encoding"]
	if len(v) == 0 || len(v) == 1 && (v[0] == "" || strings.EqualFold(v[0], "identity")) {
		return nil, nil
	}
	c := &coding{name: strings.ToLower(strings.Join(v, ", ")), limit: int(a.Policy.MaxBody)}
	c.passes = takes(a.x.r.Header["Accept-Encoding"], c.name)
	var err error
	c.tee, err = body.NewTee(c.name, c.take)
	return c, err
}

func (c *coding) take(p []byte) {
	if len(c.plain)+len(p) > c.limit {
		c.err = errTooLarge
		return
	}
	c.plain = append(c.plain, p...)
}

// decode is what the next raw bytes hold. The slice is good until the next call.
func (c *coding) decode(p []byte) []byte {
	c.plain = c.plain[:0]
	if _, err := c.tee.Write(p); err != nil && c.err == nil {
		c.err = err
	}
	return c.plain
}

// close ends the decoder; plain is then what it held back. An error says that
// the compressed bytes were cut, or held too much.
func (c *coding) close() error {
	if c.tee == nil {
		return c.err
	}
	tee := c.tee
	c.tee = nil
	c.plain = c.plain[:0]
	if err := tee.Close(); err != nil && c.err == nil {
		c.err = err
	}
	return c.err
}

// all decodes a whole body.
func (c *coding) all(raw []byte) ([]byte, error) {
	var out []byte
	for from := 0; from < len(raw) && c.err == nil; from += codedStep {
		out = append(out, c.decode(raw[from:min(from+codedStep, len(raw))])...)
		if len(out) > c.limit {
			c.err = errTooLarge
		}
	}
	err := c.close()
	return append(out, c.plain...), err
}

// codedStep is how many compressed bytes are decoded at a time.
const codedStep = 32 << 10

// next decodes one read of a stream: what it holds, and its end when the
// compressed bytes and the body agree on one.
func (c *coding) next(p []byte, err error) ([]byte, error) {
	if c.tee == nil {
		return nil, err
	}
	shown := c.decode(p)
	if err != nil {
		held := append([]byte(nil), shown...)
		if cut := c.close(); cut != nil && errors.Is(err, io.EOF) {
			err = cut
		}
		return append(held, c.plain...), err
	}
	return shown, c.err
}
