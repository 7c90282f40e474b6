package gateway

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// Config is what an operator may change while the gateway runs.
type Config struct {
	Accounts []Account
	// Clients who may call. None: everybody may, which the caller must have
	// bound to loopback.
	Clients []Client
	// ExposeAccount puts the account's id on every answer (Waybill-Account).
	ExposeAccount bool
	// SpoolDir holds bodies past the memory bound; "" is the system's
	// temporary directory.
	SpoolDir string
}

// Account is how an account is reached. What it may serve is the engine's
// business; the two know each other by ID.
type Account struct {
	ID         string
	Provider   *provider.Provider
	BaseURL    string // "" is the provider's default
	Headers    http.Header
	Credential Credential
}

// Credential gives the secret that an account sends. Implementations re-read
// files and run commands; a constant key is Key.
type Credential interface {
	// Token is what to send now, and the epoch that evidence about it belongs
	// to. An empty token sends no credential.
	Token() (token string, epoch events.Epoch)
	// Refresh is asked once per request after a 401 to a token: it says whether
	// there is another one now. Concurrent callers share one refresh.
	Refresh(ctx context.Context, rejected string) bool
}

// Key is a credential that never changes.
type Key struct {
	Secret string
	Epoch  events.Epoch
}

// Token implements Credential.
func (k Key) Token() (string, events.Epoch) { return k.Secret, k.Epoch }

// Refresh implements Credential: a constant key has no other one.
func (k Key) Refresh(context.Context, string) bool { return false }

// Client is who may call, by the SHA-256 of its key.
type Client struct {
	ID            string
	Key           [sha256.Size]byte
	Models        []string // globs; empty: all
	RPM           uint64   // requests a minute, 0: unlimited
	MaxConcurrent uint64   // 0: unlimited
}

// setup is a configuration made ready: everything that can be computed once.
type setup struct {
	Config
	accounts map[string]*upstream
}

func (g *Gateway) prepare(c Config) (*setup, error) {
	s := &setup{Config: c, accounts: make(map[string]*upstream, len(c.Accounts))}
	for i := range c.Accounts {
		u, err := newUpstream(&c.Accounts[i], g.table.routes)
		if err != nil {
			return nil, fmt.Errorf("prepare account %s: %w", c.Accounts[i].ID, err)
		}
		s.accounts[u.ID] = u
	}
	for i := range c.Clients {
		if k := c.Clients[i].Key; k == emptyKey || k == noKey {
			return nil, fmt.Errorf("prepare client %s: its key is empty", c.Clients[i].ID)
		}
	}
	return s, nil
}

// emptyKey is the digest of the empty string, noKey an absent digest: neither
// must ever be anybody's key.
var (
	emptyKey = sha256.Sum256(nil)
	noKey    [sha256.Size]byte
)
