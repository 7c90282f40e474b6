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
)

// guard says who may call. With a token, whoever has it; without one, this
// machine. Browsers are held to the API's own origin either way: there is no
// CORS, a page of another site gets nothing and sends nothing.
type guard struct {
	digest [sha256.Size]byte // of the token
	token  bool
	hosts  []string
}

func newGuard(token string, hosts []string) guard {
	return guard{digest: sha256.Sum256([]byte(token)), token: token != "", hosts: hosts}
}

// harden sets the headers that every answer carries.
func harden(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
}

func (g *guard) admit(r *http.Request) error {
	if err := g.sameSite(r); err != nil {
		return err
	}
	if err := g.known(r); err != nil {
		return err
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	return jsonOnly(r)
}

// known checks the token, in constant time; without one the caller and the name
// that it asked for must be this machine (a page that has rebound its name to
// 127.0.0.1 asks by its own name).
func (g *guard) known(r *http.Request) error {
	if g.token {
		word, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		digest := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if subtle.ConstantTimeCompare(digest[:], g.digest[:]) != 1 || !strings.EqualFold(word, "bearer") {
			return problemf(http.StatusUnauthorized, "send the admin token as Authorization: Bearer ... (WAYBILL_ADMIN_TOKEN)")
		}
		return nil
	}
	if !loopbackAddr(r.RemoteAddr) {
		return problemf(http.StatusForbidden, "without WAYBILL_ADMIN_TOKEN only this machine may call")
	}
	if host := hostname(r.Host); !loopbackName(host) && !slices.Contains(g.hosts, host) {
		return problemf(http.StatusForbidden, "without WAYBILL_ADMIN_TOKEN this may only be asked by a loopback name, not by %q", host)
	}
	return nil
}

// sameSite refuses what a browser sends for another site's page.
func (g *guard) sameSite(r *http.Request) error {
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
	return problemf(http.StatusForbidden, "bodies are JSON: send Content-Type: application/json (curl -H 'content-type: application/json' -d ...)")
}

// actor is who acted, as operator events record it.
func (g *guard) actor() string {
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

func loopbackName(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// loopbackAddr: requests without a network address come from this process.
func loopbackAddr(addr string) bool {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr == "" || addr == "@"
	}
	return ap.Addr().Unmap().IsLoopback()
}
