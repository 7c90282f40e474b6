// Package upstream is a scripted provider on a real loopback socket. It speaks
// HTTP/1.1 by hand, so that a test decides over every write: where a chunk is
// cut, when the connection is reset, when it falls silent. Accounts are told
// apart by the credential that they send; each has its own list of answers,
// used hit by hit, the last one repeating.
package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Hit is one request as it arrived.
type Hit struct {
	Account string // the credential, without "Bearer "
	Method  string
	Target  string // request target as sent, undecoded
	Host    string
	Header  http.Header
	Head    string // raw request line and header lines, as sent
	Body    []byte
	At      time.Time
	// Closed is closed when the peer closes or resets the connection, or sends
	// its next request on it.
	Closed <-chan struct{}
	// Gone is closed when the peer closes or resets the connection.
	Gone <-chan struct{}
}

// Server is a scripted upstream. Safe for concurrent use.
type Server struct {
	ln net.Listener
	wg sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every hit
	rules   []rule
	scripts map[string]*script
	hits    []*Hit
	conns   map[net.Conn]struct{}
	done    bool
}

type rule struct {
	match  func(*Hit) bool
	answer Answer
}

type script struct {
	answers []Answer
	next    int
}

// New starts a server that stops with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatalf("start scripted upstream: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Listen starts a server at an address.
func Listen(addr string) (*Server, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{ln: ln, scripts: map[string]*script{}, conns: map[net.Conn]struct{}{}, changed: make(chan struct{})}
	s.wg.Add(1)
	go s.accept()
	return s, nil
}

// URL is the base without a trailing slash.
func (s *Server) URL() string { return "http://" + s.Addr() }

// Addr is host:port.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Close resets every connection and waits for the handlers.
func (s *Server) Close() {
	s.mu.Lock()
	s.done = true
	s.ln.Close()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// Script sets an account's answers, replacing earlier ones; "*" is for all
// accounts without a script of their own.
func (s *Server) Script(account string, answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[account] = &script{answers: answers}
}

// When answers matching requests before any script is looked at; newest first.
func (s *Server) When(match func(*Hit) bool, a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append([]rule{{match, a}}, s.rules...)
}

// Hits lists the requests that reached an account; "*" is all.
func (s *Server) Hits(account string) []*Hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*Hit
	for _, h := range s.hits {
		if account == "*" || h.Account == account {
			out = append(out, h)
		}
	}
	return out
}

// WaitHits waits until an account has at least n hits.
func (s *Server) WaitHits(t testing.TB, account string, n int) []*Hit {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if hits := s.Hits(account); len(hits) >= n {
			return hits
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("account %s has %d hits after 20 s, want %d", account, len(s.Hits(account)), n)
		}
	}
}

func (s *Server) accept() {
	defer s.wg.Done()
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.done {
			s.mu.Unlock()
			c.Close()
			return
		}
		s.conns[c] = struct{}{}
		s.wg.Add(1)
		s.mu.Unlock()
		go s.serve(c)
	}
}

func (s *Server) serve(c net.Conn) {
	defer s.wg.Done()
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	r := bufio.NewReaderSize(c, 64<<10)
	for {
		hit, err := readHit(r)
		if err != nil {
			return
		}
		closed, gone := make(chan struct{}), make(chan struct{})
		hit.Closed, hit.Gone = closed, gone
		answer := s.pick(hit)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			_, err := r.Peek(1)
			close(closed)
			if err != nil {
				close(gone)
			}
		}()
		x := &Exchange{Hit: hit, conn: c}
		keep := answer(x) == nil && !x.ended
		if !keep {
			c.Close()
		}
		<-watched
		if !keep {
			return
		}
	}
}

func (s *Server) pick(h *Hit) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hits = append(s.hits, h)
	close(s.changed)
	s.changed = make(chan struct{})
	for _, r := range s.rules {
		if r.match(h) {
			return r.answer
		}
	}
	for _, name := range []string{h.Account, "*"} {
		if sc := s.scripts[name]; sc != nil && len(sc.answers) > 0 {
			a := sc.answers[min(sc.next, len(sc.answers)-1)]
			sc.next++
			return a
		}
	}
	return JSON(500, `{"error":{"message":"no script for this account","type":"server_error"}}`)
}

func readHit(r *bufio.Reader) (*Hit, error) {
	var head bytes.Buffer
	for {
		line, err := r.ReadString('\n')
		head.WriteString(line)
		if err != nil {
			return nil, err
		}
		if line == "\r\n" || line == "\n" {
			break
		}
	}
	raw := head.String()
	req, err := http.ReadRequest(bufio.NewReader(io.MultiReader(strings.NewReader(raw), r)))
	if err != nil {
		return nil, err
	}
	body, err := readBody(req, r, raw)
	if err != nil {
		return nil, err
	}
	return &Hit{
		Account: credential(req), Method: req.Method, Target: strings.Fields(raw)[1], Host: req.Host,
		Header: req.Header, Head: raw, Body: body, At: time.Now(),
	}, nil
}

// readBody reads the body straight from the connection's reader, so that a
// following request is left where it is.
func readBody(req *http.Request, r *bufio.Reader, raw string) ([]byte, error) {
	if req.ContentLength > 0 {
		body := make([]byte, req.ContentLength)
		_, err := io.ReadFull(r, body)
		return body, err
	}
	if len(req.TransferEncoding) == 0 {
		return nil, nil
	}
	again, err := http.ReadRequest(bufio.NewReader(io.MultiReader(strings.NewReader(raw), oneByte{r})))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(again.Body)
}

// oneByte keeps an outer bufio.Reader from reading beyond a chunked body.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return o.r.Read(p[:1])
}

func credential(r *http.Request) string {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
		if v := r.Header.Get(name); v != "" {
			return v
		}
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// Exchange is one request being answered by hand.
type Exchange struct {
	Hit  *Hit
	conn net.Conn

	ended    bool // the connection closes after the answer
	finished bool // the chunked body was ended
}

// Answer writes an answer. An error or a call of End, Reset closes the
// connection; otherwise it is kept alive.
type Answer func(x *Exchange) error

// ErrGone is returned by steps whose peer has left.
var ErrGone = errors.New("the peer has left")

// Write sends bytes as they are, in one write.
func (x *Exchange) Write(s string) error {
	_, err := io.WriteString(x.conn, s)
	return err
}

// End closes the connection cleanly after the answer.
func (x *Exchange) End() { x.ended = true }

// Reset aborts the connection.
func (x *Exchange) Reset() error {
	if tc, ok := x.conn.(*net.TCPConn); ok {
		tc.SetLinger(0)
	}
	x.ended = true
	return x.conn.Close()
}

// Hang keeps silent until the peer leaves.
func (x *Exchange) Hang() error {
	<-x.Hit.Gone
	return ErrGone
}

// Pause waits, or returns early when the peer leaves.
func (x *Exchange) Pause(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-x.Hit.Gone:
		return ErrGone
	}
}

// Await waits for a signal of the test, or returns when the peer leaves.
func (x *Exchange) Await(ch <-chan struct{}) error {
	select {
	case <-ch:
		return nil
	case <-x.Hit.Gone:
		return ErrGone
	}
}
