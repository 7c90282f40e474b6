package console

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/ledger"
)

// URL is a page's address with parameters in pairs, as of the page's instant.
// Parameters without a value are left away; a pair named at replaces the instant.
func (f *frame) URL(path string, pairs ...string) string {
	q := url.Values{}
	if f.At != 0 {
		q.Set("at", f.At.String())
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if q.Del(pairs[i]); pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// Account is an account's page.
func (f *frame) Account(id string) string { return f.URL("/accounts/" + url.PathEscape(id)) }

// Request is a request's page.
func (f *frame) Request(id string) string { return f.URL("/requests/" + url.PathEscape(id)) }

// Event is an event's page.
func (f *frame) Event(at events.Position) string {
	return f.URL("/events/" + strconv.FormatUint(uint64(at), 10))
}

// Live is the page as it is now.
func (f *frame) Live() string { return f.As(0) }

// As is the same page as of another instant.
func (f *frame) As(t events.Time) string {
	q := url.Values{}
	for _, p := range f.Kept {
		q.Add(p.Name, p.Value)
	}
	if t != 0 {
		q.Set("at", t.String())
	}
	if len(q) == 0 {
		return f.Path
	}
	return f.Path + "?" + q.Encode()
}

// step is a way from the page's instant to one near by.
type step struct {
	Name string
	At   events.Time
}

// Steps are the instants around the page's that the ledger has.
func (f *frame) Steps() (out []step) {
	for _, s := range []struct {
		name string
		by   time.Duration
	}{{"\u2212 1 h", -time.Hour}, {"\u2212 1 min", -time.Minute}, {"+ 1 min", time.Minute}, {"+ 1 h", time.Hour}} {
		if at := f.At.Add(s.by); at >= f.First && at <= f.Now {
			out = append(out, step{s.name, at})
		}
	}
	return out
}

// Section is the part of the console that the page belongs to.
func (f *frame) Section() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(f.Path, "/"), "/")
	switch first {
	case "", "accounts":
		return "accounts"
	}
	return first
}

// Ref is the instant that the page is as of.
func (f *frame) Ref() events.Time {
	if f.At != 0 {
		return f.At
	}
	return f.Now
}

func position(s string) (events.Position, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, badRequest("A position is a whole number, not " + strconv.Quote(s) + ".")
	}
	return events.Position(n), nil
}

// opening remembers when the ledger begins.
type opening struct {
	mu sync.Mutex
	at events.Time
}

func (o *opening) of(ctx context.Context, api *admin.API) (events.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at == 0 {
		got, err := api.Events(ctx, 0, ledger.Filter{}, 1)
		if err != nil || len(got) == 0 {
			return 0, err
		}
		o.at = got[0].RecordedAt
	}
	return o.at, nil
}
