package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Pools holds one connection pool per endpoint host, so that a host that
// hangs takes nothing from the others and connections outlive a reload.
type Pools struct {
	// Roots are the authorities that TLS endpoints are checked against; nil is
	// the system's. Set before the first use.
	Roots *x509.CertPool

	mu    sync.Mutex
	pools map[Key]*Endpoint
}

// Key names a connection pool: the connect limit is part of how it dials.
type Key struct {
	Scheme, Host string // http or https, host[:port]
	Connect      time.Duration
}

// Endpoint is how a host is reached. Safe for concurrent use.
type Endpoint struct {
	transport *http.Transport
	direct    *direct // nil with TLS
}

// Of is the pool of an endpoint.
func (t *Pools) Of(p Key) *Endpoint {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.pools[p]; e != nil {
		return e
	}
	if t.pools == nil {
		t.pools = map[Key]*Endpoint{}
	}
	d := &dialer{net: net.Dialer{Timeout: p.Connect, KeepAlive: 30 * time.Second}, limit: p.Connect, roots: t.Roots}
	e := &Endpoint{transport: newTransport(d)}
	if p.Scheme == "http" {
		e.direct = &direct{dial: d.dial, addr: withPort(p.Host)}
	}
	t.pools[p] = e
	return e
}

// withPort adds http's port to a host that names none.
func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "80")
}

// Close gives up idle connections.
func (t *Pools) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.pools {
		e.transport.CloseIdleConnections()
		if e.direct != nil {
			e.direct.close()
		}
	}
}

// Send does one round trip under a context. A failure to reach the host is an
// *Unreachable. Nothing is followed, repeated or decoded: a request is sent
// again only when nothing of it had left.
func (e *Endpoint) Send(ctx context.Context, req *http.Request) (*http.Response, error) {
	if e.direct != nil && req.ContentLength <= directBody {
		return e.direct.RoundTrip(ctx, req)
	}
	return e.transport.RoundTrip(req.WithContext(ctx))
}

// newTransport: connecting is bounded, an answer is not (the caller's context
// does that, phase by phase); no proxy of the environment, no decompression
// behind our back. Redirects are never followed because the transport is used
// without a client.
func newTransport(d *dialer) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := d.dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &headConn{Conn: c}, nil
		},
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := d.dialTLS(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			if c.ConnectionState().NegotiatedProtocol == "h2" {
				return c, nil // the transport tells HTTP/2 by the connection's type; it has no such lines
			}
			return &headConn{Conn: c}, nil
		},
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    512,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
		ReadBufferSize:         8 << 10,
	}
}

// Unreachable is a failure to reach a host: name, connect or TLS. It speaks of
// the endpoint, never of an account (R12).
type Unreachable struct {
	Step string // dns, connect, tls
	Err  error
}

// Error tells the step and what failed.
func (u *Unreachable) Error() string { return u.Step + ": " + u.Err.Error() }

// Unwrap is what failed.
func (u *Unreachable) Unwrap() error { return u.Err }

type dialer struct {
	net   net.Dialer
	limit time.Duration
	roots *x509.CertPool
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.net.DialContext(ctx, network, addr)
	if err == nil {
		return c, nil
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return nil, &Unreachable{"dns", err}
	}
	return nil, &Unreachable{"connect", err}
}

func (d *dialer) dialTLS(ctx context.Context, network, addr string) (*tls.Conn, error) {
	c, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	tc := tls.Client(c, &tls.Config{ServerName: host, RootCAs: d.roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, &Unreachable{"tls", errors.Join(err, c.Close())}
	}
	return tc, nil
}
