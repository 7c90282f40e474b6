package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
)

const (
	// listingFor is how long an account's own list of models stands; one that
	// could not be had is asked for again after listingAgain.
	listingFor   = 10 * time.Minute
	listingAgain = time.Minute
	// listingWait bounds the asking; a list request waits no longer.
	listingWait = 5 * time.Second
	maxListing  = 4 << 20
	maxListed   = 2000
)

var errNoListing = errors.New("the account lists no models")

// listings holds what accounts say that they serve, for lists of models alone:
// nothing is decided on them.
type listings struct {
	mu  sync.Mutex
	all map[listingKey]*listing
}

type listingKey struct {
	account string
	dialect events.Dialect
}

// listing is one account's list. Its lock is held while it is asked for, so
// that concurrent callers share one question.
type listing struct {
	mu    sync.Mutex
	names []string
	until time.Time
}

func (l *listings) of(k listingKey) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[listingKey]*listing{}
	}
	if l.all[k] == nil {
		l.all[k] = &listing{}
	}
	return l.all[k]
}

// ask collects the lists of accounts, all at once.
func (g *Gateway) ask(ctx context.Context, s *setup, accounts []string, d events.Dialect) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, listingWait)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, id := range accounts {
		u := s.accounts[id]
		if u == nil {
			continue
		}
		wg.Go(func() {
			got := g.listing(ctx, u.speaking(d), d)
			mu.Lock()
			defer mu.Unlock()
			names = append(names, got...)
		})
	}
	wg.Wait()
	return names
}

func (g *Gateway) listing(ctx context.Context, u *upstream, d events.Dialect) []string {
	l := g.listings.of(listingKey{u.ID, d})
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return l.names
	}
	names, err := g.fetchListing(ctx, u, d)
	if err != nil {
		l.until = time.Now().Add(listingAgain)
		return l.names // an older list is better than none
	}
	l.names, l.until = names, time.Now().Add(listingFor)
	return names
}

func (g *Gateway) fetchListing(ctx context.Context, u *upstream, d events.Dialect) ([]string, error) {
	target, err := u.listURL(g.table, d)
	if err != nil {
		return nil, err
	}
	token, _ := u.Credential.Token()
	req := &http.Request{Method: http.MethodGet, URL: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: u.host, Header: outbound(nil, u, d, token)}
	resp, err := u.endpoint(&g.pools, listingWait).Send(ctx, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxListing))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, errNoListing
	}
	return modelNames(b), nil
}

// modelNames reads any dialect's list.
func modelNames(b []byte) (names []string) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	for _, m := range list.Models {
		names = append(names, strings.TrimPrefix(m.Name, "models/"))
	}
	kept := names[:0]
	for _, n := range names {
		if plainSegment(n) && len(kept) < maxListed {
			kept = append(kept, n)
		}
	}
	return kept
}

// listURL is where an account lists its models: beside the operation that
// everybody uses.
func (u *upstream) listURL(t *table, d events.Dialect) (*url.URL, error) {
	for _, r := range t.routes {
		if r.Local || r.Tied || r.Dialect != d {
			continue
		}
		at, err := r.URL(u.base, "m", dialect.Head{})
		if err != nil {
			return nil, err
		}
		at.RawPath = ""
		for _, tail := range [...]string{"/chat/completions", "/messages", "/models/"} {
			if i := strings.LastIndex(at.Path, tail); i >= 0 {
				at.Path = at.Path[:i] + "/models"
				return at, nil
			}
		}
	}
	return nil, errNoListing
}
