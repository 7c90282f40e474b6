package recorded

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/catalogue"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/test/played"
	"github.com/waybill/waybill/test/upstream"
)

// rig is a gateway on a clock of its own, before a scripted upstream.
type rig struct {
	t      testing.TB
	clock  *played.Clock
	up     *upstream.Server
	log    *ledger.Log
	engine *engine.Engine
	gate   *gateway.Gateway
	asked  int
}

func open(t testing.TB, store ledger.Store, clock *played.Clock) *rig {
	t.Helper()
	r := &rig{t: t, clock: clock, up: upstream.New(t), log: ledger.OpenWith(store, ledger.Options{Linger: 50 * time.Microsecond})}
	env, _, err := config.ReadEnvironment(map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Sources{Path: "waybill.yaml", Text: []byte(Config(r.up.URL())), Env: env, Providers: catalogue.All()})
	if err != nil {
		t.Fatal(err)
	}
	r.engine, err = engine.Open(t.Context(), engine.Options{Log: r.log, Accounts: c.Enrolments(epochOf), Document: c.Document(),
		Version: "1.0.0", Config: c.Digest(), Now: clock.Now, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.gate, err = gateway.New(gateway.Options{Engine: r.engine}, wired(c)); err != nil {
		t.Fatal(err)
	}
	return r
}

func epochOf(a *config.Account) events.Epoch { return provider.Epoch(a.ID, a.APIKey.Reveal()) }

// wired is what the data plane needs of the configuration.
func wired(c *config.Config) gateway.Config {
	var g gateway.Config
	for i := range c.Accounts {
		a := &c.Accounts[i]
		g.Accounts = append(g.Accounts, gateway.Account{ID: a.ID, Provider: c.ProviderOf(a), BaseURL: a.BaseURL,
			Credential: gateway.Key{Secret: a.APIKey.Reveal(), Epoch: epochOf(a)}})
	}
	for i := range c.Clients {
		g.Clients = append(g.Clients, gateway.Client{ID: c.Clients[i].ID, Key: c.Clients[i].Digest()})
	}
	return g
}

func (r *rig) close() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r.gate.Close()
	if err := r.engine.Close(ctx); err != nil {
		r.t.Fatal(err)
	}
}

// settle returns when everything recorded is durable: then the clock may move.
func (r *rig) settle() {
	if err := r.engine.Settled(r.t.Context()); err != nil {
		r.t.Error(err)
	}
}

// until moves the clock to an instant of the day, unless it is later already.
func (r *rig) until(now events.Time) {
	r.settle()
	if d := now.Sub(r.clock.Now()); d > 0 {
		r.clock.Pass(d)
	}
}

// read records a monitor's reading of an account, as its push to the admin API
// would.
func (r *rig) read(account string, reading *events.Reading) {
	r.do(account, &events.QuotaFetched{Reading: *reading})
}

func (r *rig) do(account string, p events.Payload) {
	r.t.Helper()
	if _, err := r.engine.Append(r.t.Context(), events.Draft{Header: events.Header{Account: account}, Data: p}); err != nil {
		r.t.Fatal(err)
	}
}

// takes is an answer that comes some time after its request, on the rig's clock.
func (r *rig) takes(d time.Duration, a upstream.Answer) upstream.Answer {
	return func(x *upstream.Exchange) error {
		r.settle() // the decision is recorded before time passes
		r.clock.Pass(d)
		return a(x)
	}
}

// ask makes one request through the gateway, as one of four sessions.
func (r *rig) ask() {
	r.t.Helper()
	r.asked++
	client := "app"
	if r.asked%4 == 3 {
		client = "nightly"
	}
	req := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"coder","messages":[{"role":"user","content":"hi"}]}`)).WithContext(r.t.Context())
	req.Header.Set("Authorization", "Bearer "+client+"-key")
	req.Header.Set("Waybill-Session", fmt.Sprint("session-", r.asked%4))
	r.gate.ServeHTTP(httptest.NewRecorder(), req)
	r.settle()
}
