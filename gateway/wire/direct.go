package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// direct is a connection pool for an endpoint without TLS. The library's
// transport serves a connection by two goroutines of its own, and handing a
// request to them and back costs more than everything else that a relay does;
// here the request's own goroutine writes and reads. Requests are written and
// answers are parsed by the library all the same. It speaks HTTP/1.1 only and
// takes bodies that fit the socket's buffers (directBody): one that does not
// could wait for an upstream that answers before it has read.
type direct struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	addr string

	mu    sync.Mutex
	idle  []*line // newest last
	sweep *time.Timer
}

const (
	// directBody is the longest body that is sent directly.
	directBody = 16 << 10
	maxIdle    = 512
	idleFor    = 90 * time.Second
	// maxHead bounds the head of an answer.
	maxHead = 256 << 10
)

// line is one connection.
type line struct {
	net.Conn
	raw   syscall.RawConn
	r     *bufio.Reader
	w     *bufio.Writer
	left  int64 // bytes that may still be read: bounds the head
	sent  int64 // bytes of the request at hand that left
	since time.Time
	probe [1]byte
	heads heads
	alive bool
	check func(fd uintptr) bool // made once
}

var errHeadTooLarge = errors.New("the head of the answer is too large")

func newLine(c net.Conn) (*line, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.New("connection without a descriptor")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &line{Conn: c, raw: raw, left: math.MaxInt64}
	w.r, w.w = bufio.NewReaderSize(w, 8<<10), bufio.NewWriterSize(w, 4<<10)
	w.check = func(fd uintptr) bool {
		n, _, err := syscall.Recvfrom(int(fd), w.probe[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		w.alive = n < 0 && (err == syscall.EAGAIN || err == syscall.EWOULDBLOCK)
		return true
	}
	return w, nil
}

// Read implements io.Reader for the connection's own buffer.
func (w *line) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errHeadTooLarge
	}
	if int64(len(p)) > w.left {
		p = p[:w.left]
	}
	n, err := w.Conn.Read(p)
	w.left -= int64(n)
	w.heads.pass(p[:n])
	return n, err
}

// Write implements io.Writer for the connection's own buffer.
func (w *line) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.sent += int64(n)
	return n, err
}

// usable: the peer has neither closed an idle connection nor sent anything
// that nobody asked for.
func (w *line) usable() bool {
	if time.Since(w.since) > idleFor {
		return false
	}
	return w.raw.Read(w.check) == nil && w.alive
}

// take is an idle connection, nil when there is none.
func (d *direct) take() *line {
	for {
		d.mu.Lock()
		n := len(d.idle)
		if n == 0 {
			d.mu.Unlock()
			return nil
		}
		w := d.idle[n-1]
		d.idle[n-1] = nil
		d.idle = d.idle[:n-1]
		d.mu.Unlock()
		if w.usable() {
			return w
		}
		w.Close()
	}
}

// put keeps a connection whose answer has been read to its end.
func (d *direct) put(w *line) {
	w.since = time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.idle) >= maxIdle {
		w.Close()
		return
	}
	d.idle = append(d.idle, w)
	if d.sweep == nil {
		d.sweep = time.AfterFunc(idleFor, d.old)
	}
}

// old closes connections that nobody has used for long.
func (d *direct) old() {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for n < len(d.idle) && time.Since(d.idle[n].since) >= idleFor {
		d.idle[n].Close()
		n++
	}
	d.idle = append(d.idle[:0], d.idle[n:]...)
	if d.sweep = nil; len(d.idle) > 0 {
		d.sweep = time.AfterFunc(idleFor, d.old)
	}
}

// close closes idle connections.
func (d *direct) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.idle {
		w.Close()
	}
	d.idle = nil
}

// RoundTrip sends a request under a context and reads the head of its answer.
// When the context ends, whatever is under way on the connection fails at once.
func (d *direct) RoundTrip(ctx context.Context, req *http.Request) (*http.Response, error) {
	for {
		w := d.take()
		fresh := w == nil
		if fresh {
			c, err := d.dial(ctx, "tcp", d.addr)
			if err != nil {
				return nil, err
			}
			if w, err = newLine(c); err != nil {
				return nil, errors.Join(err, c.Close())
			}
		}
		resp, sent, err := d.exchange(ctx, w, req)
		if err == nil || fresh || sent || ctx.Err() != nil {
			return resp, err
		}
		// An idle connection had been closed before anything was sent on it.
		switch {
		case req.Body == nil:
		case req.GetBody == nil:
			return nil, err
		default:
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// exchange does one request on a connection. sent says that the upstream may
// have seen some of it.
func (d *direct) exchange(ctx context.Context, w *line, req *http.Request) (resp *http.Response, sent bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = w.SetDeadline(longAgo) })
	w.sent = 0
	w.heads.begin()
	w.w.Reset(w)
	if err = req.Write(w.w); err == nil {
		err = w.w.Flush()
	}
	if err == nil {
		resp, err = w.answer(req)
	}
	if err != nil {
		stop()
		w.Close()
		return nil, w.sent > 0, err
	}
	b := &lineBody{ReadCloser: resp.Body, pool: d, line: w, stop: stop, keep: !resp.Close}
	if resp.Body == http.NoBody {
		b.over(io.EOF)
	}
	resp.Body = b
	return resp, true, nil
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// answer reads the head of an answer; interim ones are skipped.
func (w *line) answer(req *http.Request) (*http.Response, error) {
	for {
		w.left = maxHead
		resp, err := http.ReadResponse(w.r, req)
		w.left = math.MaxInt64
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("the upstream switched protocols")
		case resp.StatusCode >= 200:
			return resp, nil
		}
	}
}

// lineBody is an answer's body. The connection goes back to its pool when the
// end was read, else it is closed.
type lineBody struct {
	io.ReadCloser
	pool *direct
	line *line
	stop func() bool
	keep bool
	end  error // set once the connection is given back
}

func (b *lineBody) Read(p []byte) (int, error) {
	if b.end != nil {
		return 0, b.end
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.over(err)
	}
	return n, err
}

// Close gives up what was not read.
func (b *lineBody) Close() error {
	b.over(errBodyClosed)
	return nil
}

var errBodyClosed = errors.New("the answer's body was closed")

func (b *lineBody) over(end error) {
	if b.end != nil {
		return
	}
	b.end = end
	untouched := b.stop()
	if errors.Is(end, io.EOF) && b.keep && untouched && b.line.r.Buffered() == 0 {
		b.pool.put(b.line)
		return
	}
	b.line.Close()
}
