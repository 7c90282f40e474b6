package provider

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// ErrVoid: an answer about quota that must not be used: a malformed number in
// it, or not the shape that was expected. It changes nothing (R1).
var ErrVoid = errors.New("reading is void")

// Preset is a usage or balance endpoint and the pure decoder of its answer.
type Preset struct {
	Name     string // source of its readings
	Method   string // "" is GET
	Origin   string // scheme and host, where it is not that of the account's base URL
	Path     string // absolute, with query
	Body     string // of a POST
	Header   http.Header
	Interval time.Duration // the least that is polite; 0: the default of the poller
	// Coverage names the windows that this source speaks of, for those that an
	// answer may leave out.
	Coverage []string
	// Decode reads a 2xx answer. A malformed number voids the whole reading.
	Decode func(b []byte, at events.Time) (*events.Reading, error)

	Confidence Confidence
	From       Source
}

// URL is the endpoint for an account's base URL. An account that is pointed at
// another host than the provider's own (a proxy, a test) is asked there.
func (q *Preset) URL(base, providerBase string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("usage endpoint: base URL has no host")
	}
	origin := u.Scheme + "://" + u.Host
	if p, err := url.Parse(providerBase); q.Origin != "" && err == nil && p.Host == u.Host {
		origin = q.Origin
	}
	return strings.TrimSuffix(origin, "/") + q.Path, nil
}

// Read decodes an answer and fills in source and coverage.
func (q *Preset) Read(b []byte, at events.Time) (*events.Reading, error) {
	r, err := q.Decode(b, at)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", q.Name, err)
	}
	r.Source, r.Coverage = q.Name, q.Coverage
	return r, nil
}
