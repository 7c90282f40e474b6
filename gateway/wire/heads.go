package wire

import (
	"net"
	"sync/atomic"
)

// heads takes the value out of every Trailer line of an answer's head, in the
// bytes as they come. The library refuses an answer that declares certain names
// (Content-Length, Transfer-Encoding, Trailer) as trailers; to us a declaration
// says nothing, since trailers are dropped, declared or not.
type heads struct {
	where place
	n     int  // bytes of the start line, or of the name that matched
	after bool // an interim head: another follows it
	blank bool // the line is empty so far
}

// place is where in an answer the next byte stands.
type place uint8

const (
	inBody  place = iota
	inStart       // the start line
	inName        // a line whose name may still be Trailer
	inLine        // any other line
	inValue       // the value of a Trailer line
)

// begin expects the head of an answer next.
func (h *heads) begin() { *h = heads{where: inStart} }

// pass reads on; bytes of the value become spaces.
func (h *heads) pass(p []byte) {
	for i := 0; i < len(p) && h.where != inBody; i++ {
		h.step(&p[i])
	}
}

func (h *heads) step(c *byte) {
	const start, name = "HTTP/", "trailer"
	switch {
	case *c == '\n':
		h.line()
		return
	case h.where == inStart:
		if h.n < len(start) && *c != start[h.n] {
			h.where = inBody // no head begins like this: bytes of a body under way
		}
		if h.n == len("HTTP/1.1 ") {
			h.after = *c == '1'
		}
		h.n++
		return
	case h.where == inValue:
		if *c != '\r' {
			*c = ' '
		}
	case h.where == inName && h.n == len(name):
		if h.where = inLine; *c == ':' {
			h.where = inValue
		}
	case h.where == inName && *c|0x20 == name[h.n]:
		h.n++
	case *c != '\r':
		h.where = inLine
	}
	h.blank = h.blank && *c == '\r'
}

// line is the end of one.
func (h *heads) line() {
	switch {
	case h.where != inStart && h.blank && h.after:
		h.begin()
	case h.where != inStart && h.blank:
		h.where = inBody
	default:
		h.where, h.n, h.blank = inName, 0, true
	}
}

// headConn is a connection for HTTP/1.1 whose answers pass through heads. What
// is written begins an answer, unless one is under way. Reading and writing may
// happen at once.
type headConn struct {
	net.Conn
	heads heads
	asked atomic.Bool // something was written since the last head
}

// Read implements net.Conn.
func (c *headConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.heads.where == inBody && c.asked.Swap(false) {
		c.heads.begin()
	}
	c.heads.pass(p[:n])
	return n, err
}

// Write implements net.Conn.
func (c *headConn) Write(p []byte) (int, error) {
	if !c.asked.Load() {
		c.asked.Store(true)
	}
	return c.Conn.Write(p)
}
