package gateway

import (
	"crypto/tls"
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
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connect,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    512,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
		ReadBufferSize:         8 << 10,
	}
}
