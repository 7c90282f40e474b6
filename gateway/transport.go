package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// transports holds one connection pool per endpoint host, so that a host that
// hangs takes nothing from the others and connections outlive a reload.
type transports struct {
	mu    sync.Mutex
	pools map[pool]*http.Transport
}

// pool names a connection pool: the connect limit is part of how it dials.
type pool struct {
	scheme, host string
	connect      time.Duration
}

func (t *transports) of(p pool) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tr := t.pools[p]; tr != nil {
		return tr
	}
	if t.pools == nil {
		t.pools = map[pool]*http.Transport{}
	}
	tr := newTransport(p.connect)
	t.pools[p] = tr
	return tr
}

func (t *transports) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tr := range t.pools {
		tr.CloseIdleConnections()
	}
}

// newTransport: connecting is bounded, an answer is not (the attempt's watch
// does that, phase by phase); no proxy of the environment, no decompression
// behind our back. Redirects are never followed because the transport is used
// without a client.
func newTransport(connect time.Duration) *http.Transport {
	d := &dialer{net: net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}, limit: connect}
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
	tc := tls.Client(c, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, &unreachable{"tls", errors.Join(err, c.Close())}
	}
	return tc, nil
}
