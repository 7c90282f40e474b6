package gateway

import "sync"

// buffers are what streams are read into, one for each being read.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// content is a plain answer in memory.
type content struct{ b []byte }

// contents are reused up to keepContent.
var contents = sync.Pool{New: func() any { return &content{b: make([]byte, 0, 8<<10)} }}

const keepContent = 256 << 10

// reserve makes room for a body of a known length and the read that finds its
// end.
func (c *content) reserve(length int64) {
	if length >= int64(cap(c.b)) {
		c.b = make([]byte, 0, length+1)
	}
}

// grow doubles the room, to just beyond the limit at most.
func (c *content) grow(limit int64) {
	next := make([]byte, len(c.b), min(2*int64(cap(c.b)), limit+1))
	copy(next, c.b)
	c.b = next
}

func (c *content) free() {
	if cap(c.b) > keepContent {
		return
	}
	c.b = c.b[:0]
	contents.Put(c)
}
