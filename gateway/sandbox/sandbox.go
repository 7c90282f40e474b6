// Package sandbox is what a newcomer meets first: a scripted upstream on a
// loopback socket of this process, with three accounts whose quota runs dry
// and recovers. The gateway reaches it as it reaches any other upstream, and
// classifies its answers by the same tables; nothing here touches a view or a
// ledger. Every answer says, in a header and in its text, that it comes from a
// script and that no model was asked.
package sandbox

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// ProviderID is the sandbox's own row among the providers.
const ProviderID = "sandbox"

// DryModel is a model whose daily limit is spent on every account: asking for
// it shows a refusal.
const DryModel = "dry"

//go:embed sandbox.yaml
var configuration string

// Configuration is the configuration file that the sandbox runs on, as a user
// would write one.
func Configuration() string { return configuration }

// Provider is the sandbox's row: the tables of a provider like it, all three
// dialects, the upstream's own address.
func Provider(like *provider.Provider, baseURL string) *provider.Provider {
	p := *like
	p.ID, p.BaseURL, p.EnvKey, p.Quota = ProviderID, baseURL, "", nil
	p.Dialects = []events.Dialect{events.DialectOpenAI, events.DialectAnthropic, events.DialectGemini}
	return &p
}

// Upstream is the scripted upstream, listening.
type Upstream struct {
	script *script
	server *http.Server
	listen net.Listener
	ended  chan error
}

// Start listens on a loopback port. now is the clock of the answers.
func Start(ctx context.Context, now func() time.Time) (*Upstream, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	u := &Upstream{script: newScript(now), listen: l, ended: make(chan error, 1)}
	u.server = &http.Server{Handler: u.script, ReadHeaderTimeout: 10 * time.Second}
	go func() { u.ended <- u.server.Serve(l) }()
	return u, nil
}

// URL is where it listens, without a path.
func (u *Upstream) URL() string { return "http://" + u.listen.Addr().String() }

// Close ends it and what it is answering.
func (u *Upstream) Close(ctx context.Context) error {
	err := u.server.Shutdown(ctx)
	if err != nil {
		err = u.server.Close()
	}
	if ended := <-u.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
