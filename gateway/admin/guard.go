package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/waybill/waybill/gateway/wire"
)

// Guard says who may call. With a token, whoever has it; without one, this
// machine. Browsers are held to the API's own origin either way: there is no
// CORS, a page of another site gets nothing and sends nothing.
type Guard struct {
	digest [sha256.Size]byte // of the token
	token  bool
	hosts  []string
}

// NewGuard guards by a token, or without one by address and by the names that
// this machine may be asked by besides loopback ones.
func NewGuard(token string, hosts []string) Guard {
	return Guard{digest: sha256.Sum256([]byte(token)), token: token != "", hosts: hosts}
}

// Harden sets the headers that every answer carries.
func Harden(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // no-referrer would make browsers send our own forms with Origin: null
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
}

func (g *Guard) admit(r *http.Request) error {
	if err := g.SameSite(r); err != nil {
		return err
	}
	return g.known(r)
}

// known checks the token that the header has, or the caller where there is none.
func (g *Guard) known(r *http.Request) error {
	if !g.token {
		return g.Local(r)
	}
	if len(r.Header.Values("Authorization")) > 1 {
		return problemf(http.StatusUnauthorized, "send one Authorization header, not %d: which of them counts is not for us to guess", len(r.Header.Values("Authorization")))
	}
	if !g.Opens(Bearer(r)) {
		return problemf(http.StatusUnauthorized, "send the admin token as Authorization: Bearer ... (WAYBILL_ADMIN_TOKEN)")
	}
	return nil
}

// Bearer is the token that a request bears, "" when it bears none, or more than
// one: which of them counts is not for us to guess.
func Bearer(r *http.Request) string {
	if len(r.Header.Values("Authorization")) > 1 {
		return ""
	}
	word, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(word, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Token says whether a token is asked for.
func (g *Guard) Token() bool { return g.token }

// Opens compares a token with the guard's, in constant time.
func (g *Guard) Opens(token string) bool {
	digest := sha256.Sum256([]byte(token))
	return g.token && subtle.ConstantTimeCompare(digest[:], g.digest[:]) == 1
}

// Local refuses, where no token is asked for, a caller and a name that are not
// this machine's (a page that has rebound its name to 127.0.0.1 asks by its own
// name).
func (g *Guard) Local(r *http.Request) error {
	switch host := hostname(r.Host); {
	case g.token:
		return nil
	case !loopbackAddr(r.RemoteAddr):
		return problemf(http.StatusForbidden, "without WAYBILL_ADMIN_TOKEN only this machine may call")
	case !wire.Loopback(host) && !slices.Contains(g.hosts, host):
		return problemf(http.StatusForbidden, "without WAYBILL_ADMIN_TOKEN this may only be asked by a loopback name, not by %q", host)
	}
	return nil
}

// SameSite refuses what a browser sends for another site's page.
func (g *Guard) SameSite(r *http.Request) error {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return problemf(http.StatusForbidden, "requests from pages of other origins are refused")
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return problemf(http.StatusForbidden, "requests from pages of other sites are refused")
	}
	return nil
}

// jsonOnly refuses the bodies that a form of another site could send.
func jsonOnly(r *http.Request) error {
	ct := r.Header.Get("Content-Type")
	if ct == "" {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(ct); err == nil && kind == "application/json" {
		return nil
	}
	return problemf(http.StatusUnsupportedMediaType, "bodies are JSON: send Content-Type: application/json (curl -H 'content-type: application/json' -d ...)")
}

// Actor is who acted, as operator events record it.
func (g *Guard) Actor() string {
	if g.token {
		return "admin"
	}
	return "loopback"
}

func hostname(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = h
	}
	return strings.ToLower(strings.Trim(hostport, "[]"))
}

// loopbackAddr: requests without a network address come from this process.
func loopbackAddr(addr string) bool {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr == "" || addr == "@"
	}
	return ap.Addr().Unmap().IsLoopback()
}
