package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// upstream is an account ready to be dispatched to.
type upstream struct {
	*Account
	base *url.URL   // without trailing slash, query and fragment
	urls []*url.URL // by route index; nil where the path holds more

	auth, authPrefix string      // header that carries the credential, and what precedes it
	headers          http.Header // the account's own, canonical
	ownBetas         []string    // of anthropic-beta
	dial             atomic.Pointer[dialled]
}

// dialled is the connection pool that the account last used.
type dialled struct {
	pool
	*http.Transport
}

// transport is the account's connection pool under a policy.
func (u *upstream) transport(all *transports, connect time.Duration) *http.Transport {
	if d := u.dial.Load(); d != nil && d.connect == connect {
		return d.Transport
	}
	p := pool{scheme: u.base.Scheme, host: u.base.Host, connect: connect}
	d := &dialled{pool: p, Transport: all.of(p)}
	u.dial.Store(d)
	return d.Transport
}

func newUpstream(a *Account, routes []*route) (*upstream, error) {
	raw := a.BaseURL
	if raw == "" {
		raw = a.Provider.BaseURL
	}
	base, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("read base_url: %w", err)
	}
	if (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("base_url %q: want http(s)://host[/path]", raw)
	}
	base = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: strings.TrimRight(base.Path, "/")}
	u := &upstream{Account: a, base: base, urls: make([]*url.URL, len(routes)), headers: http.Header{}}
	u.auth, u.authPrefix = credentialHeader(a.Provider.Auth)
	for name, values := range a.Headers {
		if name = http.CanonicalHeaderKey(name); name == "Anthropic-Beta" {
			u.ownBetas = values
			continue
		}
		u.headers[name] = values
	}
	for _, r := range routes {
		if r.kind == kindRelay {
			u.urls[r.index] = u.join(r, r.path)
		}
	}
	return u, nil
}

// credentialHeader is where a provider expects the credential.
func credentialHeader(a provider.Auth) (name, prefix string) {
	switch a {
	case provider.XAPIKey:
		return "X-Api-Key", ""
	case provider.XGoogAPIKey:
		return "X-Goog-Api-Key", ""
	case provider.APIKey:
		return "Api-Key", ""
	default:
		return "Authorization", "Bearer "
	}
}

// join is the one place where a base URL and a route become a path. A base URL
// has the shape that the dialect's official SDK takes (OpenAI's ends in the
// version, Anthropic's and Gemini's do not), but either spelling gives the same
// path: a version is never doubled and never missing.
func (u *upstream) join(r *route, suffix string) *url.URL {
	root, version := splitVersion(u.base.Path)
	switch {
	case version == "":
		version = r.version
	case r.dialect != events.DialectOpenAI && (version == "v1" || version == "v1beta"):
		version = r.version // the version belongs to the client's path
	case r.dialect != events.DialectOpenAI:
		root, version = u.base.Path, r.version
	}
	path := root + "/" + version + suffix
	out := *u.base
	out.Path = path
	if decoded, err := url.PathUnescape(path); err == nil && decoded != path {
		out.Path, out.RawPath = decoded, path
	}
	return &out
}

// splitVersion cuts a base path at its version: "/proxy/v1" is "/proxy" and
// "v1"; "/v1beta/openai" is "" and "v1beta/openai".
func splitVersion(path string) (root, version string) {
	rest := path
	for i := strings.IndexByte(rest, '/'); i >= 0; i = strings.IndexByte(rest, '/') {
		seg, _, _ := strings.Cut(rest[i+1:], "/")
		if isVersion(seg) {
			at := len(path) - len(rest) + i
			return path[:at], path[at+1:]
		}
		rest = rest[i+1:]
	}
	return path, ""
}

// isVersion knows v1, v4, v1beta, v1alpha2.
func isVersion(seg string) bool {
	if len(seg) < 2 || seg[0] != 'v' || seg[1] < '0' || seg[1] > '9' {
		return false
	}
	for i := 1; i < len(seg); i++ {
		if c := seg[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// target is where an attempt goes. query is the client's, without what must
// not travel.
func (u *upstream) target(r *route, model, method, query string) *url.URL {
	if t := u.urls[r.index]; t != nil {
		if query == "" {
			return t
		}
		out := *t
		out.RawQuery = query
		return &out
	}
	suffix := r.path + url.PathEscape(strings.TrimPrefix(model, "models/"))
	if method != "" {
		suffix += ":" + method
	}
	out := u.join(r, suffix)
	out.RawQuery = query
	return out
}

// travelling is the client's query without credentials.
func travelling(query string) string {
	if query == "" {
		return ""
	}
	kept := make([]string, 0, 4)
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if decoded, err := url.QueryUnescape(name); err != nil || strings.EqualFold(decoded, "key") ||
			strings.EqualFold(decoded, "api_key") || strings.EqualFold(decoded, "access_token") {
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, "&")
}
