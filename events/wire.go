package events

import (
	"encoding/binary"
	"fmt"
)

func (c *coder) fail(name string) {
	if c.err == nil {
		c.err = fmt.Errorf("field %s: %w", name, ErrMalformed)
	}
}

// have says whether the field stands next in the input, skipping older or
// unknown tags before it.
func (c *coder) have(tag int, wire uint64, name string) bool {
	for c.err == nil {
		if c.next == 0 {
			if len(c.in) == 0 {
				return false
			}
			c.next = c.varint(name)
			if c.next>>3 == 0 {
				c.fail(name)
			}
			continue
		}
		switch at := c.next >> 3; {
		case at > uint64(tag):
			return false
		case at < uint64(tag):
			c.skip(name)
		case c.next&7 != wire:
			c.fail(name)
		default:
			c.next = 0
			return true
		}
	}
	return false
}

func (c *coder) skip(name string) {
	switch c.next & 7 {
	case wireVarint:
		c.varint(name)
	case wireBytes:
		c.block(name)
	default:
		c.fail(name)
	}
	c.next = 0
}

func (c *coder) varint(name string) uint64 {
	v, n := binary.Uvarint(c.in)
	if n <= 0 {
		c.fail(name)
		c.in = nil
		return 0
	}
	c.in = c.in[n:]
	return v
}

func (c *coder) block(name string) []byte {
	n := c.varint(name)
	if n > uint64(len(c.in)) {
		c.fail(name)
		c.in = nil
		return nil
	}
	b := c.in[:n]
	c.in = c.in[n:]
	return b
}

func (c *coder) key(tag int, wire uint64) {
	c.out = binary.AppendUvarint(c.out, uint64(tag)<<3|wire)
}

// rest walks the unknown fields at the end, so that garbage is noticed.
func (c *coder) rest() { c.have(1<<28, wireVarint, "unknown") }

// ahead counts the fields with the tag that follow the one whose key was just
// read, so that a list is allocated once.
func (c *coder) ahead(tag int) int {
	in, want := c.in, uint64(tag)<<3|wireBytes
	for n := 1; ; n++ {
		size, w := binary.Uvarint(in)
		if w <= 0 || size > uint64(len(in)-w) {
			return n
		}
		in = in[uint64(w)+size:]
		key, w := binary.Uvarint(in)
		if w <= 0 || key != want {
			return n
		}
		in = in[w:]
	}
}

// open begins a length-delimited message, guessing a one-byte length.
func (c *coder) open(tag int) (at int) {
	c.key(tag, wireBytes)
	c.out = append(c.out, 0)
	return len(c.out)
}

// shut ends the message that open began.
func (c *coder) shut(at int) {
	n := len(c.out) - at
	if n < 0x80 {
		c.out[at-1] = byte(n)
		return
	}
	var head [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(head[:], uint64(n))
	c.out = append(c.out, head[:size-1]...) // make room
	copy(c.out[at+size-1:], c.out[at:at+n])
	copy(c.out[at-1:], head[:size])
}

// outer is what a nested message interrupts.
type outer struct {
	in   []byte
	next uint64
}

// enter starts decoding a nested message that has its own input.
func (c *coder) enter(name string) outer {
	b := c.block(name)
	o := outer{c.in, c.next}
	c.in, c.next = b, 0
	return o
}

func (c *coder) leave(o outer) {
	c.rest()
	c.in, c.next = o.in, o.next
}
