package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/wire"
)

// upstream is an account ready to be dispatched to.
type upstream struct {
	*Account
	base dialect.Base
	host string
	urls []*url.URL // by route index, for a request without a query; nil where the path holds more

	auth, authPrefix string      // header that carries the credential, and what precedes it
	headers          http.Header // the account's own, canonical
	ownBetas         []string    // of anthropic-beta
	pool             wire.Key    // but for the connect limit
	dialled          atomic.Pointer[dialled]
	group            learned // quota group that its answers name

	surfaces map[events.Dialect]*upstream // where the provider speaks a dialect elsewhere
}

// speaking is where the account speaks a dialect.
func (u *upstream) speaking(d events.Dialect) *upstream {
	if s := u.surfaces[d]; s != nil {
		return s
	}
	return u
}

// surface is the same account where its provider speaks another dialect.
func surface(a *Account, s provider.Surface, routes []*route) (*upstream, error) {
	there, p := *a, *a.Provider
	p.Auth, p.Surfaces = s.Auth, nil
	there.Provider, there.BaseURL = &p, s.BaseURL
	return newUpstream(&there, routes)
}

// learned is a word that changes seldom.
type learned struct{ word atomic.Pointer[string] }

// Swap sets it and returns what it was.
func (l *learned) Swap(word string) string {
	was := l.word.Load()
	if was != nil && *was == word {
		return word
	}
	l.word.Store(&word)
	if was == nil {
		return ""
	}
	return *was
}

// dialled is the connection pool that the account last used.
type dialled struct {
	connect time.Duration
	*wire.Endpoint
}

func newUpstream(a *Account, routes []*route) (*upstream, error) {
	raw := a.BaseURL
	if raw == "" {
		raw = a.Provider.BaseURL
	}
	base, err := dialect.ParseBase(raw)
	if err != nil {
		return nil, err
	}
	parsed, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("read base URL: %w", err)
	}
	u := &upstream{Account: a, base: base, host: parsed.Host, urls: make([]*url.URL, len(routes)), headers: http.Header{}}
	u.pool = wire.Key{Scheme: parsed.Scheme, Host: parsed.Host}
	u.auth, u.authPrefix = a.Provider.Auth.Header()
	u.ownBetas = append(u.ownBetas, a.Provider.Headers["Anthropic-Beta"]...)
	if a.BaseURL == "" {
		u.surfaces = make(map[events.Dialect]*upstream, len(a.Provider.Surfaces))
		for d, s := range a.Provider.Surfaces {
			if u.surfaces[d], err = surface(a, s, routes); err != nil {
				return nil, err
			}
		}
	}
	for name, values := range a.Headers {
		if name = http.CanonicalHeaderKey(name); name == "Anthropic-Beta" {
			u.ownBetas = append(u.ownBetas, values...)
			continue
		}
		u.headers[name] = values
	}
	return u, u.prepareURLs(routes)
}

// prepareURLs computes once what does not depend on the request.
func (u *upstream) prepareURLs(routes []*route) (err error) {
	for _, r := range routes {
		if r.Local || r.Tied || r.Model == dialect.InPath {
			continue
		}
		if u.urls[r.index], err = r.URL(u.base, "", dialect.Head{}); err != nil {
			return err
		}
	}
	return nil
}

// target is where an attempt goes.
func (u *upstream) target(r *route, model string, head *dialect.Head) (*url.URL, error) {
	if t := u.urls[r.index]; t != nil && head.Query == "" {
		return t, nil
	}
	return r.URL(u.base, model, *head)
}

// endpoint is the account's connection pool under a policy.
func (u *upstream) endpoint(all *wire.Pools, connect time.Duration) *wire.Endpoint {
	if d := u.dialled.Load(); d != nil && d.connect == connect {
		return d.Endpoint
	}
	p := u.pool
	p.Connect = connect
	d := &dialled{connect: connect, Endpoint: all.Of(p)}
	u.dialled.Store(d)
	return d.Endpoint
}

// keyless: the account is configured to send no credential.
func (u *upstream) keyless() bool {
	k, constant := u.Credential.(Key)
	return constant && k.Secret == ""
}
