package main

import (
	"net/http"

	"github.com/waybill/waybill/gateway"
	"github.com/waybill/waybill/gateway/config"
)

// gatewayConfig is what the data plane needs of a configuration.
func gatewayConfig(c *config.Config, cs credentials) gateway.Config {
	g := gateway.Config{ExposeAccount: c.ExposeAccount || config.Loopback(c.Env.Listen)}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		g.Accounts = append(g.Accounts, gateway.Account{
			ID: a.ID, Provider: c.ProviderOf(a), BaseURL: a.BaseURL, Headers: revealed(a.Headers), Credential: cs[a.ID].Credential,
		})
	}
	for i := range c.Clients {
		cl := &c.Clients[i]
		g.Clients = append(g.Clients, gateway.Client{
			ID: cl.ID, Key: cl.Digest(), Models: cl.Models, RPM: cl.RPM, MaxConcurrent: cl.MaxConcurrent,
		})
	}
	return g
}

func revealed(m map[string]config.Secret) http.Header {
	h := make(http.Header, len(m))
	for name, v := range m {
		h.Set(name, v.Reveal())
	}
	return h
}
