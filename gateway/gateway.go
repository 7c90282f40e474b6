package gateway

import (
	"crypto/x509"
	"log/slog"
	"sync/atomic"

	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/gateway/wire"
)

// Options are what a gateway lives on for its whole life.
type Options struct {
	Engine *engine.Engine
	Logger *slog.Logger
	// Roots are the authorities that TLS endpoints are checked against; nil is
	// the system's.
	Roots *x509.CertPool
	// Done, if set, is called once per request after its end, on the request's
	// own goroutine: metrics hang here. The summary is not kept.
	Done func(*Summary)
}

// Gateway is the data plane. It is an http.Handler, safe for concurrent use.
type Gateway struct {
	engine   *engine.Engine
	log      *slog.Logger
	done     func(*Summary)
	table    *table
	config   atomic.Pointer[setup]
	limits   limits
	keys     keyring
	pools    wire.Pools
	made     made
	listings listings
}

// New makes a gateway that serves a configuration.
func New(o Options, c Config) (*Gateway, error) {
	g := &Gateway{engine: o.Engine, log: o.Logger, done: o.Done, table: newTable()}
	g.pools.Roots = o.Roots
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if err := g.Adopt(c); err != nil {
		return nil, err
	}
	return g, nil
}

// Adopt replaces the configuration as a whole. Requests in flight end on the
// one that they began with. An error leaves the old one in place.
func (g *Gateway) Adopt(c Config) error {
	s, err := g.prepare(c)
	if err != nil {
		return err
	}
	g.config.Store(s)
	return nil
}

// Close gives up idle upstream connections.
func (g *Gateway) Close() { g.pools.Close() }
