package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/credential"
	"github.com/waybill/waybill/gateway/provider"
)

// startCommands is how long the credential commands, which run side by side, may
// keep the first port closed. One that takes longer goes on meanwhile.
const startCommands = 3 * time.Second

// heldCredential is an account's credential and where it comes from.
type heldCredential struct {
	gateway.Credential
	source  events.Digest       // of where it comes from, the secret included
	renewed *credential.Renewed // of a command, nil otherwise
	stop    context.CancelFunc  // of its renewals, nil before they run
}

// credentials are those of a configuration, by account.
type credentials map[string]*heldCredential

func (cs credentials) epoch(a *config.Account) events.Epoch {
	_, epoch := cs[a.ID].Token()
	return epoch
}

// credentialsOf makes each account's credential. One whose source has not
// changed is kept: what it knows outlives a reload.
func (s *service) credentialsOf(ctx context.Context, c *config.Config, before credentials) (credentials, error) {
	out := make(credentials, len(c.Accounts))
	ctx, cancel := context.WithTimeout(ctx, startCommands)
	defer cancel()
	var commands sync.WaitGroup
	defer commands.Wait()
	for i := range c.Accounts {
		a := &c.Accounts[i]
		source := events.DigestOf(append([]string{a.APIKey.Reveal(), a.APIKeyFile}, a.CredentialCommand...)...)
		if old := before[a.ID]; old != nil && old.source == source {
			out[a.ID] = old
			continue
		}
		made, err := credentialOf(a, credential.Options{
			Account: a.ID, Now: time.Now,
			Changed: func(epoch events.Epoch) { s.credentialChanged(a.ID, epoch) },
			Failed:  func(err error) { s.log.Warn("a credential was not renewed", "account", a.ID, "error", err) },
		})
		if err != nil {
			return nil, fmt.Errorf("account %q: %w", a.ID, err)
		}
		made.source = source
		out[a.ID] = made
		if r := made.renewed; r != nil {
			commands.Go(func() {
				if err := r.Load(ctx); err != nil {
					s.log.Warn("an account starts without a credential; nothing is sent to it before there is one", "account", a.ID)
				}
			})
		}
	}
	return out, nil
}

// credentialOf makes one. A file must be there; a command that fails is run
// again after a rest.
func credentialOf(a *config.Account, o credential.Options) (*heldCredential, error) {
	switch {
	case a.APIKeyFile != "":
		f, err := credential.NewFile(a.APIKeyFile, o)
		return &heldCredential{Credential: f}, err
	case len(a.CredentialCommand) > 0:
		o.Fetch = credential.Command(a.CredentialCommand)
		r := credential.New(o)
		return &heldCredential{Credential: r, renewed: r}, nil
	}
	secret := a.APIKey.Reveal()
	return &heldCredential{Credential: gateway.Key{Secret: secret, Epoch: provider.Epoch(a.ID, secret)}}, nil
}

// credentialChanged records a new epoch, beside the request that found it.
func (s *service) credentialChanged(account string, epoch events.Epoch) {
	if !s.enrolled.Load() {
		return // enrolment names it, or renewCredentials does
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		if err := s.engine.Renew(ctx, account, epoch); err != nil {
			s.log.Warn("a new credential was not recorded", "account", account, "error", err)
		}
	}()
}

// renewCredentials runs the renewals of credentials that are new and ends those
// of credentials that are gone.
func (s *service) renewCredentials(before, now credentials) {
	for id, c := range before {
		if now[id] != c && c.stop != nil {
			c.stop()
		}
	}
	s.enrolled.Store(true)
	for id, c := range now {
		if c.renewed == nil || c.stop != nil {
			continue
		}
		if token, epoch := c.Token(); token != "" {
			s.credentialChanged(id, epoch) // it may have come after the enrolment
		}
		ctx, stop := context.WithCancel(s.life)
		c.stop = stop
		s.background.Go(func() { c.renewed.Run(ctx) })
	}
}
