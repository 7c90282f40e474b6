package bugs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/catalogue"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/test/upstream"
)

// plan is what a test sets up before its world starts.
type plan struct {
	names    []string // accounts A, B, C: also their credentials
	policy   events.Policy
	models   []events.Route
	clients  []gateway.Client
	expose   bool
	relaxed  bool
	quiet    bool // no log
	roots    *x509.CertPool
	cred     gateway.Credential // of every account, default a constant key
	store    ledger.Store       // default: one in memory
	keys     map[string]string  // credential of an account, default its name
	base     map[string]string  // base URL of an account, default the scripted upstream
	headers  http.Header        // of every account
	settings func(name string, s *events.Settings)
	provider func(dialect events.Dialect, p *provider.Provider)
}

// world is a gateway between a client and a scripted upstream. Each account
// name stands for three accounts, one per dialect: "a" speaks OpenAI's
// protocol, "a-msg" Anthropic's, "a-gem" Gemini's, all with the credential "a".
type world struct {
	t      testing.TB
	up     *upstream.Server
	server *httptest.Server
	engine *engine.Engine
	gate   *gateway.Gateway
	log    *ledger.Log
	logged *logged
	client *http.Client
	config gateway.Config
	fault  atomic.Bool // the next request panics inside the gateway

	mu   sync.Mutex
	done []gateway.Summary
	told chan struct{}
}

// logged collects what the gateway logs.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func testPolicy() events.Policy {
	p := events.DefaultPolicy()
	p.ConnectTimeout = 2 * time.Second
	p.HeaderTimeout, p.FirstTokenTimeout, p.IdleTimeout = 5*time.Second, 5*time.Second, 5*time.Second
	p.MaxElapsed = 15 * time.Second
	return p
}

var dialects = []struct {
	suffix   string
	provider string
	dialect  events.Dialect
}{
	{"", "openai-compatible", events.DialectOpenAI},
	{"-msg", "anthropic", events.DialectAnthropic},
	{"-gem", "gemini", events.DialectGemini},
}

// start makes a world: accounts a, b, c unless told otherwise, model m1 in
// their order.
func start(t testing.TB, set ...func(*plan)) *world {
	t.Helper()
	p := &plan{names: []string{"a", "b"}, policy: testPolicy(), expose: true}
	for _, fn := range set {
		fn(p)
	}
	w := &world{t: t, up: upstream.New(t), logged: &logged{}, told: make(chan struct{})}
	logger := slog.New(slog.NewJSONHandler(w.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if p.quiet {
		logger = slog.New(slog.DiscardHandler)
	}
	if p.store == nil {
		p.store = ledgertest.NewMemory()
	}
	w.log = ledger.Open(p.store)
	t.Cleanup(func() { w.log.Close() })
	enrolments, accounts := p.accounts(w.up.URL(), &w.fault)
	var err error
	w.engine, err = engine.Open(t.Context(), engine.Options{
		Log: w.log, Accounts: enrolments, Document: events.Document{Policy: p.policy, Models: p.routes()},
		Relaxed: p.relaxed, Version: "test", Logger: logger, Strict: !p.quiet,
	})
	if err != nil {
		t.Fatalf("open engine: %v", err)
	}
	t.Cleanup(func() { w.engine.Close(context.Background()) })
	w.config = gateway.Config{Accounts: accounts, Clients: p.clients, ExposeAccount: p.expose, SpoolDir: t.TempDir()}
	w.gate, err = gateway.New(gateway.Options{Engine: w.engine, Logger: logger, Done: w.note, Roots: p.roots}, w.config)
	if err != nil {
		t.Fatalf("start gateway: %v", err)
	}
	w.server = httptest.NewServer(w.gate)
	t.Cleanup(w.server.Close)
	w.client = &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(w.client.CloseIdleConnections)
	return w
}

func (p *plan) accounts(url string, fault *atomic.Bool) (enrolments []engine.Enrolment, accounts []gateway.Account) {
	for i, name := range p.names {
		for _, d := range dialects {
			base := url
			if b, ok := p.base[name]; ok {
				base = b
			}
			prov := *catalogue.Find(d.provider)
			if p.provider != nil {
				p.provider(d.dialect, &prov)
			}
			id, secret := name+d.suffix, name
			if k, ok := p.keys[name]; ok {
				secret = k
			}
			s := events.Settings{Provider: prov.ID, Endpoint: strings.TrimPrefix(base, "http://"), Dialects: []events.Dialect{d.dialect}, Families: prov.Families, Weight: 1, Priority: int64(i)}
			if p.settings != nil {
				p.settings(id, &s)
			}
			enrolments = append(enrolments, engine.Enrolment{ID: id, Epoch: events.Epoch(i + 1), Settings: s})
			var cred gateway.Credential = &faulty{Key: gateway.Key{Secret: secret, Epoch: events.Epoch(i + 1)}, fault: fault}
			if p.cred != nil {
				cred = p.cred
			}
			accounts = append(accounts, gateway.Account{ID: id, Provider: &prov, BaseURL: base, Headers: p.headers, Credential: cred})
		}
	}
	return enrolments, accounts
}

// faulty is a credential that panics on command: a fault of ours in the middle
// of an attempt.
type faulty struct {
	gateway.Key
	fault *atomic.Bool
}

func (f *faulty) Token() (string, events.Epoch) {
	if f.fault.CompareAndSwap(true, false) {
		panic("a fault of the gateway")
	}
	return f.Key.Token()
}

// panicking sends a call that meets a fault.
func (w *world) panicking(c call) {
	w.t.Helper()
	w.fault.Store(true)
	w.do(c).want(w.t, http.StatusInternalServerError)
}

// reload adopts the same configuration again.
func (w *world) reload() {
	if err := w.gate.Adopt(w.config); err != nil {
		w.t.Errorf("reload: %v", err)
	}
}

// routes is model m1 over all accounts in order, unless the test has its own.
func (p *plan) routes() []events.Route {
	if p.models != nil {
		return p.models
	}
	var all []string
	for _, name := range p.names {
		for _, d := range dialects {
			all = append(all, name+d.suffix)
		}
	}
	return []events.Route{{Name: "m1", Strategy: events.StrategyOrdered, Tiers: []events.Tier{{Accounts: all}}}}
}

func (w *world) note(s *gateway.Summary) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, *s)
	close(w.told)
	w.told = make(chan struct{})
}

// finished waits until n requests are over and returns their summaries.
func (w *world) finished(n int) []gateway.Summary {
	w.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		w.mu.Lock()
		done, told := slices.Clone(w.done), w.told
		w.mu.Unlock()
		if len(done) >= n {
			return done
		}
		select {
		case <-told:
		case <-limit:
			w.t.Fatalf("%d requests are over after 20 s, want %d", len(done), n)
		}
	}
}

// events are the ledger's events of one kind so far, once the requests that
// the test has made are over.
func (w *world) events(kinds ...events.Kind) []events.Event {
	w.t.Helper()
	for w.engine.Unsettled() > 0 {
		head, err := w.log.Head(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(w.t.Context(), 50*time.Millisecond)
		_ = w.log.Wait(ctx, head.Position)
		cancel()
	}
	evs, err := w.log.Read(w.t.Context(), 0, ledger.Filter{Kinds: kinds}, 10000)
	if err != nil {
		w.t.Fatalf("read ledger: %v", err)
	}
	return evs
}

// outcomes are the outcomes of all attempts, in order.
func (w *world) outcomes() []events.Event {
	return w.events(events.KindAttemptSucceeded, events.KindAttemptFailed, events.KindAttemptRateLimited, events.KindAttemptPaymentRequired, events.KindAttemptAborted)
}

// classes tells outcomes as "account:class".
func (w *world) classes() []string {
	var out []string
	for _, e := range w.outcomes() {
		class := events.ClassSuccess
		if f, ok := events.FailureOf(e.Data); ok {
			class = f.Class
		}
		out = append(out, e.Account+":"+class.String())
	}
	return out
}

// hits counts the requests that reached an account.
func (w *world) hits(account string) int { return len(w.up.Hits(account)) }

// answer is what the client got.
type answer struct {
	status int
	header http.Header
	body   string
	closes bool  // the connection ends with the answer
	err    error // of reading the body
	took   time.Duration
}

// call is one request to the gateway.
type call struct {
	method string
	path   string
	body   string
	header http.Header
}

func (c call) with(name, value string) call {
	c.header = c.header.Clone()
	if c.header == nil {
		c.header = http.Header{}
	}
	c.header.Add(name, value)
	return c
}

// saying replaces the body.
func (c call) saying(body string) call { c.body = body; return c }

// The calls of the case file's notation.
var (
	chat    = call{method: "POST", path: "/v1/chat/completions", body: `{"model":"m1","messages":[{"role":"user","content":"hi"}]}`}
	chatS   = chat.saying(`{"model":"m1","messages":[{"role":"user","content":"hi"}],"stream":true}`)
	resp    = call{method: "POST", path: "/v1/responses", body: `{"model":"m1","input":"hi"}`}
	respS   = resp.saying(`{"model":"m1","input":"hi","stream":true}`)
	msg     = call{method: "POST", path: "/v1/messages", body: `{"model":"m1","max_tokens":16,"messages":[{"role":"user","content":"hi"}]}`}
	msgS    = msg.saying(`{"model":"m1","max_tokens":16,"messages":[{"role":"user","content":"hi"}],"stream":true}`)
	gem     = call{method: "POST", path: "/v1beta/models/m1:generateContent", body: `{"contents":[{"parts":[{"text":"hi"}]}]}`}
	gemS    = call{method: "POST", path: "/v1beta/models/m1:streamGenerateContent?alt=sse", body: gem.body}
	emb     = call{method: "POST", path: "/v1/embeddings", body: `{"model":"m1","input":"hi"}`}
	allOf   = map[string]call{"chat": chat, "resp": resp, "msg": msg, "gem": gem}
	allOfS  = map[string]call{"chat+s": chatS, "resp+s": respS, "msg+s": msgS, "gem+s": gemS}
	streams = map[string][]string{"chat+s": upstream.ChatEvents, "resp+s": upstream.RespEvents, "msg+s": upstream.MsgEvents, "gem+s": upstream.GemEvents}
)

func (w *world) request(ctx context.Context, c call) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, c.method, w.server.URL+c.path, strings.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	if c.header != nil {
		req.Header = c.header.Clone()
	}
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return w.client.Do(req)
}

// do sends a call and reads its whole answer.
func (w *world) do(c call) answer {
	w.t.Helper()
	from := time.Now()
	res, err := w.request(w.t.Context(), c)
	if err != nil {
		w.t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{status: res.StatusCode, header: res.Header, body: string(b), closes: res.Close, err: err, took: time.Since(from)}
}

// good scripts accounts that answer well.
func (w *world) good(accounts ...string) {
	for _, a := range accounts {
		w.up.Script(a, upstream.Good)
	}
}

func (w *world) wantHits(want map[string]int) {
	w.t.Helper()
	for account, n := range want {
		if got := w.hits(account); got != n {
			w.t.Errorf("hits(%s) = %d, want %d", account, got, n)
		}
	}
}

func (w *world) wantClasses(want ...string) {
	w.t.Helper()
	if got := w.classes(); !slices.Equal(got, want) {
		w.t.Errorf("outcomes %v, want %v", got, want)
	}
}

func (a answer) want(t testing.TB, status int) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d; body %.300s", a.status, status, a.body)
	}
	if a.header.Get("Waybill-Request-Id") == "" {
		t.Error("no Waybill-Request-Id")
	}
}

func key(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

// whole joins the events of a stream.
func whole(events []string) string { return strings.Join(events, "") }

// busy is a case's bound on time as a test can hold it to on a machine that has
// other things to do. What must come at once is also proven by handshakes: the
// upstream goes on only when the client has it.
func busy(d time.Duration) time.Duration { return 3*d + time.Second }
