package quota

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// ErrNoSource: the provider has no usage endpoint that can be asked.
var ErrNoSource = errors.New("no usage endpoint")

// defaultInterval is between two fetches where nobody says otherwise; a preset
// may know that its endpoint wants more.
const defaultInterval = time.Minute

// Source is an endpoint that tells about quota, and how its answer is read.
type Source struct {
	Name   string // of its readings
	Method string // "" is GET
	URL    string
	Body   string
	Header http.Header
	// Auth is how the account's credential is sent. An Authorization or Cookie
	// in Header stands for it.
	Auth     provider.Auth
	Interval time.Duration
	Decode   func(b []byte, at events.Time) (*events.Reading, error)

	mapping string // what Decode was made of, to tell two apart
}

// Preset is a provider's own usage endpoint, for an account with this base URL
// ("" is the provider's). With an interval of zero the preset's own holds.
func Preset(p *provider.Provider, base string, interval time.Duration) (Source, error) {
	q := p.Quota
	if q == nil || q.Path == "" {
		return Source{}, ErrNoSource
	}
	if base == "" {
		base = p.BaseURL
	}
	at, err := q.URL(base, p.BaseURL)
	if err != nil {
		return Source{}, err
	}
	return Source{Name: q.Name, Method: q.Method, URL: at, Body: q.Body, Header: q.Header, Auth: p.Auth,
		Interval: cmp.Or(interval, q.Interval, defaultInterval), Decode: q.Read}, nil
}

// HTTP is any usage endpoint, read by a mapping of its fields.
func HTTP(url string, m Mapping, h http.Header, auth provider.Auth, interval time.Duration) Source {
	return Source{Name: "http", URL: url, Header: h, Auth: auth, Interval: cmp.Or(interval, defaultInterval), Decode: m.Read,
		mapping: fmt.Sprintf("%+v %+v", m.Windows, m.Credit)}
}

// Origin is scheme and host, for people.
func (s *Source) Origin() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return "?"
	}
	return u.Scheme + "://" + u.Host
}
