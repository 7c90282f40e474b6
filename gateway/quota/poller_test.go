package quota

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// endpoint is a scripted usage endpoint.
type endpoint struct {
	mu     sync.Mutex
	asked  []time.Time
	tokens []string
	active int
	most   int
	answer func(n int, r *http.Request) (*http.Response, error)
	takes  time.Duration
}

func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	e.mu.Lock()
	e.asked = append(e.asked, time.Now())
	e.tokens = append(e.tokens, r.Header.Get("Authorization"))
	n := len(e.asked)
	e.active++
	e.most = max(e.most, e.active)
	answer := e.answer
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.active--
		e.mu.Unlock()
	}()
	select {
	case <-time.After(e.takes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if answer == nil {
		return reply(200, `{"used":1}`), nil
	}
	return answer(n, r)
}

// times is how often it was asked so far.
func (e *endpoint) times() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.asked)
}

func (e *endpoint) answers(f func(int, *http.Request) (*http.Response, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = f
}

func reply(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprintf("%d X", status), Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// key is a credential that a refresh replaces once.
type key struct {
	mu        sync.Mutex
	token     string
	other     string
	refreshes int
}

func (k *key) Token() (string, events.Epoch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.token, events.Epoch(k.token[len(k.token)-1])
}

func (k *key) Refresh(_ context.Context, rejected string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refreshes++
	if k.other == "" {
		return false
	}
	k.token, k.other = k.other, ""
	return true
}

// sink collects what a poller records.
type sink struct {
	mu     sync.Mutex
	drafts []events.Draft
	fail   error
}

func (s *sink) take(_ context.Context, d ...events.Draft) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drafts = append(s.drafts, d...)
	return s.fail
}

func (s *sink) counts() (fetched, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.drafts {
		switch s.drafts[i].Data.(type) {
		case *events.QuotaFetched:
			fetched++
		case *events.QuotaFetchFailed:
			failed++
		}
	}
	return fetched, failed
}

var used = Mapping{Windows: []WindowMap{{Name: "w", Used: "used", Percent: true}}}

func target(account string, every time.Duration) Target {
	return Target{Account: account, Credential: &key{token: "SECRET-UP"},
		Source: HTTP("https://"+account+".example/usage", used, nil, provider.Bearer, every)}
}

// polled runs a poller over an endpoint for a while of virtual time.
func polled(t *testing.T, e *endpoint, s *sink, d time.Duration, targets ...Target) *Poller {
	t.Helper()
	p := NewPoller(PollerOptions{Fetcher: &Fetcher{Transport: e, Now: func() events.Time { return events.At(time.Now()) }},
		Sink: s.take, Logger: slog.New(slog.DiscardHandler)})
	p.Adopt(targets)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	time.Sleep(d)
	stop()
	<-done
	return p
}

func TestAnAccountIsAskedInItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := &endpoint{}, &sink{}
		polled(t, e, s, time.Hour, target("a", time.Minute))
		fetched, failed := s.counts()
		if fetched < 54 || fetched > 60 || failed != 0 {
			t.Errorf("%d fetched, %d failed in an hour at a minute each", fetched, failed)
		}
		for i := 1; i < len(e.asked); i++ {
			if d := e.asked[i].Sub(e.asked[i-1]); d < time.Minute || d > 66*time.Second {
				t.Fatalf("asked again after %s, want a minute and a tenth of jitter", d)
			}
		}
	})
}

func Test_B061_an_endpoint_that_names_a_time_is_left_alone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return reply(429, `{"error":"slow"}`, "Retry-After", "30"), nil
			}
			return reply(200, `{"used":1}`), nil
		}}
		s := &sink{}
		polled(t, e, s, 2*time.Minute, target("a", 500*time.Millisecond))
		if d := e.asked[1].Sub(e.asked[0]); d < 30*time.Second || d > 31*time.Second {
			t.Errorf("asked again after %s, want the 30s it named", d)
		}
		f, ok := s.drafts[0].Data.(*events.QuotaFetchFailed)
		if !ok || f.Status != 429 || f.RetryAt.Sub(s.drafts[0].ObservedAt) != 30*time.Second {
			t.Errorf("recorded %+v", s.drafts[0].Data)
		}
		if _, failed := s.counts(); failed != 1 {
			t.Errorf("%d failures recorded, want one and nothing about the account itself", failed)
		}
	})
}

func Test_B061_an_older_success_does_not_shorten_the_pause(t *testing.T) {
	at := pace{until: now.Add(time.Hour)}
	tg := target("a", time.Minute)
	if wait := at.after(&tg, &Fetched{At: now, Reading: &events.Reading{}}); wait < time.Hour {
		t.Errorf("waits %s, want the hour that was named", wait)
	}
}

func TestFailuresBackOffAndSuccessForgives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: func(n int, _ *http.Request) (*http.Response, error) {
			if n <= 4 || n == 7 {
				return nil, errors.New("no route to https://a.example/usage?key=SECRET-UP")
			}
			return reply(200, `{"used":1}`), nil
		}}
		s := &sink{}
		polled(t, e, s, 2*time.Hour, target("a", time.Minute))
		for i, least := range []time.Duration{2, 4, 8, 16, 1, 1, 2, 1} {
			if d := e.asked[i+1].Sub(e.asked[i]); d < least*time.Minute || d > least*time.Minute*11/10 {
				t.Errorf("wait %d is %s, want %d minutes and a tenth", i, d, least)
			}
		}
		for i := range s.drafts {
			if f, ok := s.drafts[i].Data.(*events.QuotaFetchFailed); ok && (strings.Contains(f.Error, "SECRET") || f.Error == "") {
				t.Errorf("B136: the event says %q", f.Error)
			}
		}
	})
}

func TestARefusedCredentialIsRefreshedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &key{token: "tok1", other: "tok2"}
		e := &endpoint{answer: func(_ int, r *http.Request) (*http.Response, error) {
			if r.Header.Get("Authorization") != "Bearer tok2" {
				return reply(401, `{"error":"Incorrect API key: tok1"}`), nil
			}
			return reply(200, `{"used":1}`), nil
		}}
		s := &sink{}
		tg := target("a", time.Minute)
		tg.Credential = k
		polled(t, e, s, 30*time.Second, tg)
		fetched, failed := s.counts()
		if fetched != 1 || failed != 0 || k.refreshes != 1 || s.drafts[0].Epoch != '2' {
			t.Errorf("%d fetched, %d failed, %d refreshes, %+v", fetched, failed, k.refreshes, s.drafts[0].Header)
		}
	})
}

func TestAHundredAccountsShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var targets []Target
		for i := range 100 {
			targets = append(targets, target(fmt.Sprintf("a%d", i), time.Minute))
		}
		e, s := &endpoint{takes: 3 * time.Second}, &sink{}
		polled(t, e, s, 5*time.Minute, targets...)
		if e.most > budget {
			t.Errorf("%d fetches at a time, want at most %d", e.most, budget)
		}
		for i := 1; i < len(e.asked); i++ {
			if e.asked[i].Sub(e.asked[i-1]) < spacing-time.Microsecond { // instants are microseconds
				t.Fatalf("two fetches started %s apart", e.asked[i].Sub(e.asked[i-1]))
			}
		}
		seen := map[string]int{}
		for i := range s.drafts {
			seen[s.drafts[i].Account]++
		}
		if len(seen) != 100 {
			t.Errorf("%d of 100 accounts were asked within the budget", len(seen))
		}
	})
}

func TestAReloadKeepsWhatHasNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := &endpoint{}, &sink{}
		p := NewPoller(PollerOptions{Fetcher: &Fetcher{Transport: e, Now: func() events.Time { return events.At(time.Now()) }},
			Sink: s.take, Logger: slog.New(slog.DiscardHandler)})
		a, b := target("a", time.Minute), target("b", time.Minute)
		p.Adopt([]Target{a, b})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		time.Sleep(90 * time.Second)
		moved := a
		moved.Source.URL = "https://elsewhere.example/usage"
		p.Adopt([]Target{a, target("c", time.Minute)})
		time.Sleep(10 * time.Minute)
		asked := e.times()
		p.Adopt([]Target{moved})
		time.Sleep(30 * time.Second)
		if n := e.times() - asked; n != 1 {
			t.Errorf("another address is asked %d times at once, want once", n)
		}
		stop()
		<-done
		count := map[string]int{}
		for i := range s.drafts {
			count[s.drafts[i].Account]++
		}
		if count["b"] > 2 || count["c"] < 8 || count["a"] < 10 {
			t.Errorf("fetches %v", count)
		}
	})
}

func TestANudgeFetchesSoonButNotWhileTheEndpointRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := &endpoint{}, &sink{}
		p := NewPoller(PollerOptions{Fetcher: &Fetcher{Transport: e, Now: func() events.Time { return events.At(time.Now()) }},
			Sink: s.take, Logger: slog.New(slog.DiscardHandler)})
		p.Adopt([]Target{target("a", time.Hour)})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		time.Sleep(30 * time.Second)
		p.Nudge("a")
		p.Nudge("nobody")
		time.Sleep(time.Second)
		if e.times() != 2 {
			t.Errorf("asked %d times, want the first and the nudged", e.times())
		}
		e.answers(func(int, *http.Request) (*http.Response, error) { return reply(429, "", "Retry-After", "600"), nil })
		p.Nudge("a")
		time.Sleep(nudgeRest)
		p.Nudge("a")
		time.Sleep(2 * nudgeRest)
		if e.times() != 3 {
			t.Errorf("asked %d times, want nothing while it rests", e.times())
		}
		stop()
		<-done
	})
}

func TestASinkThatFailsCostsTheReadingOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := &endpoint{}, &sink{fail: errors.New("ledger down")}
		polled(t, e, s, 10*time.Minute, target("a", time.Minute))
		if len(e.asked) < 9 {
			t.Errorf("asked %d times", len(e.asked))
		}
	})
}

func TestARedirectIsNotFollowedAndALongAnswerIsNoReading(t *testing.T) {
	for name, answer := range map[string]*http.Response{
		"redirect": reply(302, "", "Location", "https://elsewhere.example/?key=SECRET-UP"),
		"too long": reply(200, strings.Repeat(" ", maxAnswer)+`{"used":1}`),
		"html":     reply(200, "<html>"),
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			f := Fetcher{Now: func() events.Time { return now }, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				calls++
				return answer, nil
			})}
			tg := target("a", time.Minute)
			got := f.Fetch(t.Context(), &tg.Source, tg.Credential)
			if got.Reading != nil || got.Fault == "" || calls != 1 || strings.Contains(got.Fault, "SECRET") {
				t.Errorf("%+v after %d calls", got, calls)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWhereAPresetIsAsked(t *testing.T) {
	p := &provider.Provider{BaseURL: "https://api.example/v1", Auth: provider.Bearer,
		Quota: &provider.Preset{Name: "x", Origin: "https://usage.example", Path: "/me?x=1", Interval: 5 * time.Minute}}
	for base, want := range map[string]string{
		"":                         "https://usage.example/me?x=1",
		"https://api.example/v1":   "https://usage.example/me?x=1",
		"http://127.0.0.1:9999/v1": "http://127.0.0.1:9999/me?x=1",
	} {
		s, err := Preset(p, base, 0)
		if err != nil || s.URL != want || s.Interval != 5*time.Minute {
			t.Errorf("base %q: %s every %s, %v", base, s.URL, s.Interval, err)
		}
	}
	if _, err := Preset(&provider.Provider{}, "", 0); !errors.Is(err, ErrNoSource) {
		t.Errorf("got %v", err)
	}
}

func TestAQuestionWithABodySaysThatItIsJSON(t *testing.T) {
	for body, want := range map[string]string{"": "", "{}": "application/json"} {
		s := Source{Method: http.MethodPost, URL: "https://x.example/", Body: body}
		r, err := s.request(t.Context(), "")
		if err != nil || r.Header.Get("Content-Type") != want {
			t.Errorf("body %q is of type %q, want %q; %v", body, r.Header.Get("Content-Type"), want, err)
		}
	}
}

func TestACredentialOfTheSourceStandsForTheAccounts(t *testing.T) {
	s := HTTP("https://x.example/", used, http.Header{"Cookie": {"session=1"}}, provider.Bearer, 0)
	r, err := s.request(t.Context(), "SECRET-UP")
	if err != nil || r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "session=1" {
		t.Errorf("%v %v", r.Header, err)
	}
}
