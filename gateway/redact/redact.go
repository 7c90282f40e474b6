// Package redact takes secrets and identities out of text that goes to a log,
// an event, an error or a client: keys, bearer tokens, e-mail addresses,
// organisation ids, ?key= in URLs. It is pure, it is the one place that does
// so, and it rather hides too much than too little.
//
// It works by shape, and by value for secrets that the caller names: a pooled
// credential may have any shape.
package redact

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Mark stands where something was taken out.
const Mark = "[redacted]"

// shortest is the length from which on a named secret is searched for: a
// shorter one would tear ordinary words apart.
const shortest = 4

// Text redacts text. The secrets named are taken out wherever they stand, also
// where they are escaped; the rest goes by shape.
func Text(s string, secrets ...string) string {
	for _, secret := range secrets {
		s = literal(s, secret)
	}
	lower := strings.ToLower(s)
	for _, r := range shapes() {
		if !r.may(lower) {
			continue
		}
		if next := r.replace(s); next != s {
			s, lower = next, strings.ToLower(next)
		}
	}
	return s
}

// Bytes is Text for bodies; it returns new bytes where anything was found.
func Bytes(b []byte, secrets ...string) []byte { return []byte(Text(string(b), secrets...)) }

// Head is the redacted beginning of a body, at most n bytes, cut at a rune. It
// redacts before it cuts, so that no half of a secret escapes.
func Head(b []byte, n int, secrets ...string) string {
	const lookahead = 1 << 10
	s := Text(string(b[:min(len(b), n+lookahead)]), secrets...)
	if len(s) <= n {
		return strings.ToValidUTF8(s, "?")
	}
	return strings.ToValidUTF8(strings.ToValidUTF8(s[:n], ""), "?")
}

// Error is an error's text, redacted. The URL of a transport error loses its
// query, and its credentials with it.
func Error(err error, secrets ...string) string {
	if err == nil {
		return ""
	}
	var u *url.Error
	if errors.As(err, &u) {
		return Text(strings.Replace(err.Error(), u.URL, bareURL(u.URL), 1), secrets...)
	}
	return Text(err.Error(), secrets...)
}

func bareURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return Mark
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Header is a copy of headers fit for a log: those that carry a credential, a
// cookie or an identity keep their name only, the rest is redacted by shape.
func Header(h http.Header, secrets ...string) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		if secretName(name) {
			out[name] = []string{Mark}
			continue
		}
		copied := slices.Clone(values)
		for i, v := range copied {
			copied[i] = Text(v, secrets...)
		}
		out[name] = copied
	}
	return out
}

// secretName says that a header, query parameter or config member of this name
// holds a secret or an identity.
func secretName(name string) bool {
	n := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch n {
	case "authorization", "proxy-authorization", "cookie", "set-cookie", "key", "token", "secret", "password",
		"openai-organization", "openai-project", "anthropic-organization-id", "chatgpt-account-id", "x-goog-user-project",
		"location":
		return true
	}
	for _, end := range []string{"-key", "apikey", "-token", "-secret", "-password", "-credential", "-credentials", "-signature"} {
		if strings.HasSuffix(n, end) {
			return true
		}
	}
	return false
}

// shape is one pattern and what becomes of it. A pattern costs a hundred times
// what a search for a word does, so may tells cheaply where none can match.
type shape struct {
	may  func(lower string) bool
	find *regexp.Regexp
	with string                  // replacement, with $1
	only func(match string) bool // nil: every match
}

func (r *shape) replace(s string) string {
	if r.only == nil {
		return r.find.ReplaceAllString(s, r.with)
	}
	return r.find.ReplaceAllStringFunc(s, func(m string) string {
		if !r.only(m) {
			return m
		}
		return r.find.ReplaceAllString(m, r.with)
	})
}
