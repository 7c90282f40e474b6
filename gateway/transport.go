package gateway

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

// transports holds one connection pool per endpoint host, so that a host that
// hangs takes nothing from the others and connections outlive a reload.
type transports struct {
	roots *x509.CertPool
	mu    sync.Mutex
	pools map[pool]*endpoint
}

// pool names a connection pool: the connect limit is part of how it dials.
type pool struct {
	scheme, host string
	connect      time.Duration
}

// endpoint is how a host is reached.
type endpoint struct {
	*http.Transport
	direct *direct // nil with TLS
}

func (t *transports) of(p pool) *endpoint {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.pools[p]; e != nil {
		return e
	}
	if t.pools == nil {
		t.pools = map[pool]*endpoint{}
	}
	d := &dialer{net: net.Dialer{Timeout: p.connect, KeepAlive: 30 * time.Second}, limit: p.connect, roots: t.roots}
	e := &endpoint{Transport: newTransport(d)}
	if p.scheme == "http" {
		e.direct = &direct{dial: d.dial, addr: withPort(p.host)}
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

func (t *transports) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.pools {
		e.CloseIdleConnections()
		if e.direct != nil {
			e.direct.close()
		}
	}
}

// send does one round trip under a context.
func (e *endpoint) send(ctx context.Context, req *http.Request) (*http.Response, error) {
	if e.direct != nil && req.ContentLength <= directBody {
		return e.direct.RoundTrip(ctx, req)
	}
	return e.RoundTrip(req.WithContext(ctx))
}

// newTransport: connecting is bounded, an answer is not (the attempt's watch
// does that, phase by phase); no proxy of the environment, no decompression
// behind our back. Redirects are never followed because the transport is used
// without a client.
func newTransport(d *dialer) *http.Transport {
	return &http.Transport{
		DialContext:            d.dial,
		DialTLSContext:         d.dialTLS,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    512,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
		ReadBufferSize:         8 << 10,
	}
}

// unreachable is a failure to reach a host: name, connect or TLS. It speaks of
// the endpoint, never of an account (R12).
type unreachable struct {
	step string // dns, connect, tls
	err  error
}

func (u *unreachable) Error() string { return u.step + ": " + u.err.Error() }
func (u *unreachable) Unwrap() error { return u.err }

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
		return nil, &unreachable{"dns", err}
	}
	return nil, &unreachable{"connect", err}
}

func (d *dialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
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
		return nil, &unreachable{"tls", errors.Join(err, c.Close())}
	}
	return tc, nil
}
