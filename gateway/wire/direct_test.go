package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// peer is an upstream that a test plays by hand, connection by connection.
type peer struct {
	t     *testing.T
	ln    net.Listener
	conns atomic.Int64
}

// newPeer serves each connection with fn, told which one it is, from 1.
func newPeer(t *testing.T, fn func(n int64, c net.Conn, r *bufio.Reader)) *peer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, ln: ln}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			n := p.conns.Add(1)
			go func() {
				defer c.Close()
				fn(n, c, bufio.NewReader(c))
			}()
		}
	}()
	return p
}

func (p *peer) pool() *direct {
	d := &dialer{limit: time.Second}
	pool := &direct{dial: d.dial, addr: p.ln.Addr().String()}
	p.t.Cleanup(pool.close)
	return pool
}

// read takes one request in.
func read(r *bufio.Reader) error {
	req, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}

func request(body string) *http.Request {
	req := &http.Request{Method: "POST", Header: http.Header{}, Host: "h", ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader([]byte(body)))}
	req.URL = mustURL("http://h/x")
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
	return req
}

func get(t *testing.T, d *direct, ctx context.Context) (string, error) {
	t.Helper()
	resp, err := d.RoundTrip(ctx, request("{}"))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

const okHead = "HTTP/1.1 200 OK\r\n"

func TestConnectionsAreUsedAgainOnlyWhenTheirAnswerWasReadToItsEnd(t *testing.T) {
	rows := map[string]struct {
		answer string
		conns  int64
	}{
		"a length":             {okHead + "Content-Length: 2\r\n\r\nok", 1},
		"chunks":               {okHead + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 1},
		"an empty body":        {okHead + "Content-Length: 0\r\n\r\n", 1},
		"no content":           {"HTTP/1.1 204 No Content\r\n\r\n", 1},
		"interim answers":      {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + okHead + "Content-Length: 2\r\n\r\nok", 1},
		"close":                {okHead + "Connection: close\r\nContent-Length: 2\r\n\r\nok", 3},
		"HTTP/1.0":             {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 3},
		"more than was stated": {okHead + "Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n", 3},
	}
	for name, row := range rows {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			p := newPeer(t, func(_ int64, c net.Conn, r *bufio.Reader) {
				for read(r) == nil {
					io.WriteString(c, row.answer)
				}
			})
			d := p.pool()
			for range 3 {
				if _, err := get(t, d, t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n := p.conns.Load(); n != row.conns {
				t.Errorf("%d connections, want %d", n, row.conns)
			}
		})
	}
}

func TestAnIdleConnectionThatThePeerClosedIsNotUsed(t *testing.T) {
	closed := make(chan struct{}, 8)
	p := newPeer(t, func(_ int64, c net.Conn, r *bufio.Reader) {
		if read(r) == nil {
			io.WriteString(c, okHead+"Content-Length: 2\r\n\r\nok")
		}
		c.Close()
		closed <- struct{}{}
	})
	d := p.pool()
	for range 5 {
		if got, err := get(t, d, t.Context()); got != "ok" || err != nil {
			t.Fatalf("%q %v", got, err)
		}
		<-closed
	}
}

func TestARequestThatWasReadIsNotSentTwice(t *testing.T) {
	p := newPeer(t, func(n int64, c net.Conn, r *bufio.Reader) {
		if read(r) == nil {
			io.WriteString(c, okHead+"Content-Length: 2\r\n\r\nok")
		}
		read(r) // the second request is read, then the connection dies
	})
	d := p.pool()
	if _, err := get(t, d, t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, d, t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("err %v, want an unexpected EOF and no second try", err)
	}
	if n := p.conns.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestTheHeadOfAnAnswerIsBounded(t *testing.T) {
	p := newPeer(t, func(_ int64, c net.Conn, r *bufio.Reader) {
		read(r)
		io.WriteString(c, okHead)
		for {
			if _, err := fmt.Fprintf(c, "X-Filler: %s\r\n", strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	})
	if _, err := get(t, p.pool(), t.Context()); !errors.Is(err, errHeadTooLarge) {
		t.Errorf("err %v, want %v", err, errHeadTooLarge)
	}
}

func TestTheContextEndsEveryPhase(t *testing.T) {
	for phase, answer := range map[string]string{"head": "", "half a head": "HTTP/1.1 2", "body": okHead + "Content-Length: 5\r\n\r\nok"} {
		t.Run(strings.ReplaceAll(phase, " ", "_"), func(t *testing.T) {
			gone, begun := make(chan struct{}), make(chan struct{})
			p := newPeer(t, func(_ int64, c net.Conn, r *bufio.Reader) {
				read(r)
				io.WriteString(c, answer)
				close(begun)
				r.ReadByte()
				close(gone)
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-begun; cancel() }()
			if got, err := get(t, p.pool(), ctx); err == nil {
				t.Errorf("got %q and no error", got)
			}
			select {
			case <-gone:
			case <-time.After(20 * time.Second):
				t.Error("the connection stayed open")
			}
		})
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	gone := make(chan struct{})
	p := newPeer(t, func(_ int64, c net.Conn, r *bufio.Reader) {
		read(r)
		io.WriteString(c, okHead+"Content-Length: 2\r\n\r\nok")
		r.ReadByte()
		close(gone)
	})
	d := p.pool()
	if _, err := get(t, d, t.Context()); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.idle[0].since = time.Now().Add(-idleFor)
	d.mu.Unlock()
	d.old()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Error("an old connection stayed open")
	}
	if d.take() != nil {
		t.Error("an old connection can still be taken")
	}
}

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

func TestIdleConnectionsAreBounded(t *testing.T) {
	p := newPeer(t, func(_ int64, _ net.Conn, r *bufio.Reader) { _ = read(r) })
	d := p.pool()
	defer d.close()
	for range maxIdle + 1 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", d.addr)
		if err != nil {
			t.Fatal(err)
		}
		w, err := newLine(c)
		if err != nil {
			t.Fatal(err)
		}
		d.put(w)
	}
	if len(d.idle) != maxIdle {
		t.Errorf("%d idle connections, want %d", len(d.idle), maxIdle)
	}
}

func TestAConnectionWhoseRequestWasGivenUpIsNotKept(t *testing.T) {
	p := newPeer(t, func(_ int64, c net.Conn, r *bufio.Reader) {
		for read(r) == nil {
			io.WriteString(c, okHead+"Content-Length: 2\r\n\r\nok")
		}
	})
	d := p.pool()
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := d.RoundTrip(ctx, request("{}"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, _ = io.ReadAll(resp.Body) // it came with the head, and may still be read
	resp.Body.Close()
	if len(d.idle) != 0 {
		t.Error("it is kept, though it may be closed at any moment")
	}
}
