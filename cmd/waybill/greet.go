package main

import (
	"fmt"
	"strings"

	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/sandbox"
)

// greet says what is running and what to do with it. With a JSON log it is one
// line of it, and one for each account.
func (s *service) greet() {
	if s.config.Env.LogFormat == "json" {
		s.log.Info("serving", "data", s.dataURL(), "admin", s.adminURL(), "ledger", redactURL(s.config.Env.Ledger),
			"accounts", len(s.config.Accounts), "sandbox", s.upstream != nil)
		for i := range s.config.Accounts {
			a := &s.config.Accounts[i]
			s.log.Info("account", "account", a.ID, "provider", a.Provider, "credential", credentialHint(a))
		}
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nWaybill %s\n", version())
	if s.upstream != nil {
		fmt.Fprintf(&b, "  SANDBOX      no real model is asked: a script answers at %s\n", s.upstream.URL())
	}
	fmt.Fprintf(&b, "  data plane   %s\n  admin API    %s\n  console      %s/\n  ledger       %s (durability %s)\n",
		s.dataURL(), s.adminURL(), s.adminURL(), redactURL(s.config.Env.Ledger), s.config.Env.Durability)
	if s.ledgerNote != "" {
		fmt.Fprintf(&b, "               %s\n", s.ledgerNote)
	}
	if s.config.Path != "" && s.upstream == nil {
		fmt.Fprintf(&b, "  config       %s (reloaded when it changes)\n", s.config.Path)
	}
	s.greetAccounts(&b)
	s.greetClients(&b)
	if s.upstream != nil {
		s.greetSandbox(&b)
	}
	fmt.Fprint(s.out, b.String())
}

// greetAccounts prints one line per account: real keys spend real money.
func (s *service) greetAccounts(b *strings.Builder) {
	if len(s.config.Accounts) == 0 {
		fmt.Fprintf(b, "  accounts     none: every request is refused until the config names one\n")
	}
	for i := range s.config.Accounts {
		a := &s.config.Accounts[i]
		fmt.Fprintf(b, "  account      %-20s %-20s %s\n", a.ID, a.Provider, credentialHint(a))
	}
}

func credentialHint(a *config.Account) string {
	switch {
	case !a.APIKey.Empty():
		return "key " + a.APIKey.Tail()
	case a.APIKeyFile != "":
		return "key in " + a.APIKeyFile
	case len(a.CredentialCommand) > 0:
		return "key from " + a.CredentialCommand[0]
	}
	return "no key"
}

func (s *service) greetClients(b *strings.Builder) {
	if len(s.config.Clients) == 0 {
		fmt.Fprintf(b, "  clients      any key or none is accepted, on this machine only\n")
		return
	}
	ids := make([]string, len(s.config.Clients))
	for i := range s.config.Clients {
		ids[i] = s.config.Clients[i].ID
	}
	fmt.Fprintf(b, "  clients      %s\n", strings.Join(ids, ", "))
}

// greetSandbox is the first minute: one line to paste for each dialect, a
// refusal, and the question why.
func (s *service) greetSandbox(b *strings.Builder) {
	u := s.dataURL()
	key := ""
	if len(s.config.Clients) > 0 {
		key = " -H 'Authorization: Bearer YOUR-CLIENT-KEY'"
	}
	fmt.Fprintf(b, `
Paste these (any model name works):

  # OpenAI
  curl -i %[1]s/v1/chat/completions -H 'Content-Type: application/json'%[2]s \
    -d '{"model":"gpt-5","messages":[{"role":"user","content":"hello"}]}'

  # Anthropic, streamed
  curl -N %[1]s/v1/messages -H 'Content-Type: application/json' -H 'anthropic-version: 2023-06-01'%[2]s \
    -d '{"model":"claude-sonnet","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hello"}]}'

  # Gemini
  curl %[1]s/v1beta/models/gemini-pro:generateContent -H 'Content-Type: application/json'%[2]s \
    -d '{"contents":[{"parts":[{"text":"hello"}]}]}'

  # A model whose daily limit is spent everywhere: a refusal
  curl -i %[1]s/v1/chat/completions -H 'Content-Type: application/json'%[2]s \
    -d '{"model":"%[3]s","messages":[{"role":"user","content":"hello"}]}'

Then ask why, by the Waybill-Request-Id of any answer, or without one for the last refusal:

  bin/waybill why
  bin/waybill accounts

Account amber's console says that it is exhausted while it serves, birch answers 429 after
every fourth request, cedar 402 after every sixth; all of them come back.

`, u, key, sandbox.DryModel)
}

func (s *service) dataURL() string  { return adminURL(s.data.Addr().String()) }
func (s *service) adminURL() string { return adminURL(s.admin.Addr().String()) }
