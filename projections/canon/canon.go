// Package canon is the canonical binary form of a view's state: equal states
// give equal bytes, on every machine. A view lists its fields once, and the same
// list writes the state and reads it back, so that the two cannot disagree. It
// knows nothing of what the fields mean, and it is not the form of events.
package canon

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is a state that cannot be read.
var ErrMalformed = errors.New("malformed state")

// Coder writes fields, or reads them in the same order.
type Coder struct {
	out     []byte
	in      []byte
	reading bool
	err     error
}

// Writer appends to b.
func Writer(b []byte) *Coder { return &Coder{out: b} }

// Reader reads b.
func Reader(b []byte) *Coder { return &Coder{in: b, reading: true} }

// Reading says which way the coder goes.
func (c *Coder) Reading() bool { return c.reading }

// Bytes is what was written.
func (c *Coder) Bytes() []byte { return c.out }

// Close is the first error of a read, or that bytes are left over.
func (c *Coder) Close() error {
	if c.err == nil && len(c.in) > 0 {
		c.err = fmt.Errorf("%w: %d bytes left over", ErrMalformed, len(c.in))
	}
	return c.err
}

// Err is the first error of a read so far.
func (c *Coder) Err() error { return c.err }

// Fail marks the input as malformed, for what only the reader of a field can see.
func (c *Coder) Fail() { c.fail() }

func (c *Coder) fail() {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %d bytes from its end", ErrMalformed, len(c.in))
	}
	c.in = nil
}

func (c *Coder) uvarint(v uint64) uint64 {
	if !c.reading {
		c.out = binary.AppendUvarint(c.out, v)
		return v
	}
	v, n := binary.Uvarint(c.in)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.in = c.in[n:]
	return v
}

// Uint is any unsigned integer, a varint.
func Uint[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *Coder, p *T) {
	v := c.uvarint(uint64(*p))
	switch {
	case !c.reading: // what is written is not touched: it may be shared
	case uint64(T(v)) != v:
		c.fail()
	default:
		*p = T(v)
	}
}

// Int is any signed integer, a zigzag varint.
func Int[T ~int | ~int32 | ~int64](c *Coder, p *T) {
	v := int64(*p)
	u := c.uvarint(uint64(v<<1) ^ uint64(v>>63))
	if c.reading {
		*p = T(int64(u>>1) ^ -int64(u&1))
	}
}

// Bool is one byte.
func (c *Coder) Bool(p *bool) {
	var v uint8
	if *p {
		v = 1
	}
	if Uint(c, &v); v > 1 {
		c.fail()
	}
	if c.reading {
		*p = v == 1
	}
}

// String is length-prefixed.
func (c *Coder) String(p *string) {
	n := c.uvarint(uint64(len(*p)))
	if !c.reading {
		c.out = append(c.out, *p...)
		return
	}
	if n > uint64(len(c.in)) {
		c.fail()
		return
	}
	if b := c.in[:n]; string(b) != *p { // a struct that is read into again often has it
		*p = string(b)
	}
	c.in = c.in[n:]
}

// Raw reads what String or Nested wrote without copying it: it is good as long
// as the input is.
func (c *Coder) Raw() []byte {
	n := c.uvarint(0)
	if n > uint64(len(c.in)) {
		c.fail()
		return nil
	}
	b := c.in[:n]
	c.in = c.in[n:]
	return b
}

// Nested is fields with the length of all of them before them, so that a reader
// may pass over them.
func (c *Coder) Nested(fields func(*Coder)) {
	if !c.reading {
		inner := Writer(nil)
		fields(inner)
		c.uvarint(uint64(len(inner.out)))
		c.out = append(c.out, inner.out...)
		return
	}
	inner := Reader(c.Raw())
	if fields(inner); inner.Close() != nil {
		c.fail()
	}
}

// Fixed is an array's bytes, without a length.
func (c *Coder) Fixed(p []byte) {
	if !c.reading {
		c.out = append(c.out, p...)
		return
	}
	if len(p) > len(c.in) {
		c.fail()
		return
	}
	c.in = c.in[copy(p, c.in):]
}

// Len is a collection's length; a read refuses one that the input cannot hold,
// an element being at least a byte.
func (c *Coder) Len(n int) int {
	v := c.uvarint(uint64(n))
	if c.reading && v > uint64(len(c.in)) {
		c.fail()
		return 0
	}
	return int(v)
}

// Numbers is a slice of unsigned integers; reading uses the slice again that
// stands there. An empty one reads as it would be written.
func Numbers[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *Coder, p *[]T) {
	n := c.Len(len(*p))
	if c.reading {
		if cap(*p) < n {
			*p = make([]T, n)
		}
		*p = (*p)[:n]
	}
	for i := range *p {
		Uint(c, &(*p)[i])
	}
}

// Slice is a length and the elements. An empty one reads as nil.
func Slice[T any](c *Coder, p *[]T, each func(*Coder, *T)) {
	n := c.Len(len(*p))
	if c.reading {
		*p = nil
		if n > 0 {
			*p = make([]T, n)
		}
	}
	for i := range *p {
		each(c, &(*p)[i])
	}
}
