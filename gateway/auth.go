package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/wire"
)

// presented is the credential that a client sent. The order is the same on
// every surface: the dialect's own header, the other dialect's, Authorization,
// ?key=. The first that is there is the one that counts: a wrong one is not
// rescued by another. Empty counts as absent, two values of one header count
// as wrong.
func presented(r *http.Request, d events.Dialect) (key string, sent bool) {
	first, second := "X-Api-Key", "X-Goog-Api-Key"
	if d == events.DialectGemini {
		first, second = second, first
	}
	for _, name := range [...]string{first, second} {
		if key, sent = single(r.Header[name]); sent {
			return key, true
		}
	}
	if key, sent = bearer(r.Header["Authorization"]); sent {
		return key, true
	}
	if r.URL.RawQuery == "" {
		return "", false
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", strings.Contains(r.URL.RawQuery, "key=")
	}
	return single(q["key"])
}

func single(values []string) (string, bool) {
	switch len(values) {
	case 0:
		return "", false
	case 1:
		v := strings.TrimSpace(values[0])
		return v, v != ""
	}
	return "", true
}

// bearer reads Authorization. Another scheme is a wrong credential, not an
// absent one.
func bearer(values []string) (string, bool) {
	v, sent := single(values)
	if !sent || v == "" {
		return "", sent
	}
	scheme, key, _ := strings.Cut(v, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", true
	}
	key = strings.TrimSpace(key)
	return key, key != ""
}

// identify finds the client of a key. It compares digests, all of them, so
// that its time tells nothing about the key.
func (s *setup) identify(key string) *Client {
	if key == "" {
		return nil
	}
	digest := sha256.Sum256([]byte(key))
	found := -1
	for i := range s.Clients {
		if subtle.ConstantTimeCompare(s.Clients[i].Key[:], digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	return &s.Clients[found]
}

// anybody is the client of a gateway that tells nobody apart.
var anybody = &Client{}

// authenticate is the one check that every route stands behind. why is for
// people and shows at most a fingerprint.
func (s *setup) authenticate(r *http.Request, d events.Dialect) (c *Client, why string) {
	if len(s.Clients) == 0 {
		if o := r.Header["Origin"]; len(o) > 0 && foreign(o[0]) {
			return nil, "pages of other sites may not use a gateway without client keys: configure clients, and give the page a key"
		}
		return anybody, ""
	}
	key, sent := presented(r, d)
	if c := s.identify(key); c != nil {
		return c, ""
	}
	if !sent {
		return nil, "no client key: send one as Authorization: Bearer, x-api-key or x-goog-api-key"
	}
	if key == "" {
		return nil, "the client key cannot be read: send one key, once, as Authorization: Bearer, x-api-key or x-goog-api-key"
	}
	return nil, "unknown client key (" + fingerprint(key) + ")"
}

// foreign: a page of the web sent this, not a tool or a page of this machine.
// Without keys nothing else would keep any site that its owner visits from
// spending the accounts (B146).
func foreign(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return !wire.Loopback(u.Hostname())
}

// fingerprint names a secret without showing any of it.
func fingerprint(secret string) string {
	d := sha256.Sum256([]byte(secret))
	return "sha256:" + hex.EncodeToString(d[:4])
}
