package quota

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/redact"
)

// Bounds of one fetch.
const (
	fetchTimeout = 20 * time.Second
	maxAnswer    = 1 << 20
	maxShown     = 300 // of an error, in the event
)

// Credential is the account's, as the data plane uses it.
type Credential interface {
	Token() (token string, epoch events.Epoch)
	Refresh(ctx context.Context, rejected string) bool
}

// Fetched is what one fetch gave: a reading, or why there is none.
type Fetched struct {
	At      events.Time // when it was answered, or given up
	Epoch   events.Epoch
	Reading *events.Reading
	Status  int         // of the answer, 0 when there was none
	Fault   string      // secrets removed, "" with a reading
	RetryAt events.Time // when the endpoint wants to be asked again, 0 when it names no time
	Raw     []byte      // of the answer, secrets removed, where the fetcher shows it; never for events
}

// Fetcher asks usage endpoints.
type Fetcher struct {
	// Transport is used as it is; redirects are not followed and cookies not
	// kept. nil is http.DefaultTransport.
	Transport http.RoundTripper
	Now       func() events.Time
	Show      bool // keep the answer for people to see
}

// Fetch asks once, and once more with another credential where the first was
// refused and there is one.
func (f *Fetcher) Fetch(ctx context.Context, s *Source, c Credential) Fetched {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	token, epoch := c.Token()
	got := f.once(ctx, s, token)
	got.Epoch = epoch
	if got.Status == http.StatusUnauthorized && c.Refresh(ctx, token) {
		token, epoch = c.Token()
		got = f.once(ctx, s, token)
		got.Epoch = epoch
	}
	return got
}

func (f *Fetcher) once(ctx context.Context, s *Source, token string) Fetched {
	req, err := s.request(ctx, token)
	if err != nil {
		return Fetched{At: f.Now(), Fault: redact.Error(err, token)}
	}
	client := http.Client{Transport: f.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return Fetched{At: f.Now(), Fault: short(redact.Error(err, token))}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	got := Fetched{At: f.Now(), Status: resp.StatusCode}
	if f.Show {
		got.Raw = redact.Bytes(b, token)
	}
	got.RetryAt = provider.RetryAt(resp.Header, got.At)
	switch {
	case err != nil:
		got.Fault = short(redact.Error(err, token))
	case len(b) > maxAnswer:
		got.Fault = fmt.Sprintf("the answer is longer than %d bytes", maxAnswer)
	case resp.StatusCode/100 != 2:
		got.Fault = short(resp.Status + ": " + redact.Head(b, maxShown, token))
	default:
		got.read(s, b, token)
	}
	return got
}

func (got *Fetched) read(s *Source, b []byte, token string) {
	r, err := s.Decode(b, got.At)
	if err != nil {
		got.Fault = short(redact.Error(err, token))
		return
	}
	got.Reading = r
}

func short(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxShown)], "") }

func (s *Source) request(ctx context.Context, token string) (*http.Request, error) {
	method := s.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL, strings.NewReader(s.Body))
	if err != nil {
		return nil, errors.New("the URL of the usage endpoint is none")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "waybill")
	if s.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		s.Auth.Set(req.Header, token)
	}
	if s.Header.Get("Authorization") != "" || s.Header.Get("Cookie") != "" {
		s.Auth.Clear(req.Header)
	}
	for name, v := range s.Header {
		req.Header[http.CanonicalHeaderKey(name)] = v
	}
	return req, nil
}

// Draft is the event of a fetch.
func (got *Fetched) Draft(account string, s *Source) events.Draft {
	h := events.Header{Account: account, Epoch: got.Epoch, ObservedAt: got.At}
	if got.Reading != nil {
		return events.Draft{Header: h, Data: &events.QuotaFetched{Reading: *got.Reading}}
	}
	return events.Draft{Header: h, Data: &events.QuotaFetchFailed{Source: s.Name, Status: uint32(got.Status), Error: got.Fault, RetryAt: got.RetryAt}}
}
