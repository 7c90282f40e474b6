package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/gateway/provider"
)

// Enrolments is what the ledger holds of the accounts; epoch names the
// credential that each would send.
func (c *Config) Enrolments(epoch func(a *Account) events.Epoch) []engine.Enrolment {
	out := make([]engine.Enrolment, len(c.Accounts))
	for i := range c.Accounts {
		a := &c.Accounts[i]
		out[i] = engine.Enrolment{ID: a.ID, Epoch: epoch(a), Settings: c.settingsOf(a)}
	}
	return out
}

// Document is the routing document.
func (c *Config) Document() events.Document {
	d := events.Document{Policy: c.Policy}
	for _, m := range c.Models {
		r := events.Route{Name: m.Name, Strategy: m.Strategy}
		for _, t := range m.Targets {
			r.Tiers = append(r.Tiers, events.Tier{Accounts: t.Accounts, Provider: t.Provider, Model: t.Model})
		}
		d.Models = append(d.Models, r)
	}
	for _, cl := range c.Clients {
		d.Clients = append(d.Clients, events.Client{ID: cl.ID, Models: cl.Models, RPM: cl.RPM, MaxConcurrent: cl.MaxConcurrent})
	}
	return d
}

// Digest names the effective configuration, secrets left out: what
// gateway.started records.
func (c *Config) Digest() events.Digest {
	doc := c.Document()
	parts := []string{doc.Digest().String(), strconv.FormatBool(c.ExposeAccount), c.Env.Durability, fmt.Sprintf("%+v", c.Ledger), fmt.Sprint(c.SpoolMax)}
	for _, e := range c.Enrolments(func(*Account) events.Epoch { return 0 }) {
		sealed := events.Seal(&events.Draft{Data: &events.AccountEnrolled{Settings: e.Settings}})
		parts = append(parts, e.ID, string(sealed.Payload))
	}
	for _, r := range c.Rules {
		parts = append(parts, r.ID, r.Text)
	}
	return events.DigestOf(parts...)
}

// SecretsDigest changes with the keys of accounts and clients and with what
// else Digest leaves out. It stays in this process.
func (c *Config) SecretsDigest() events.Digest {
	var parts []string
	for i := range c.Accounts {
		a := &c.Accounts[i]
		parts = append(parts, a.ID, a.APIKey.Reveal(), a.APIKeyFile, strings.Join(a.CredentialCommand, "\x00"), a.BaseURL,
			headerText(a.Headers), quotaText(a.Quota), headerText(a.Quota.Headers))
	}
	for i := range c.Clients {
		d := c.Clients[i].Digest()
		parts = append(parts, c.Clients[i].ID, string(d[:]))
	}
	parts = append(parts, feedTexts(c.Feeds)...)
	if c.PriceTable != nil {
		parts = append(parts, fmt.Sprintf("%+v", *c.PriceTable))
	}
	return events.DigestOf(parts...)
}

// Restart are the keys whose change another configuration asks for, and which
// are read at start alone.
func (c *Config) Restart(next *Config) (keys []string) {
	if next.Ledger != c.Ledger {
		keys = append(keys, "ledger")
	}
	if next.SpoolMax != c.SpoolMax {
		keys = append(keys, "spool_max")
	}
	if !slices.Equal(feedTexts(next.Feeds), feedTexts(c.Feeds)) {
		keys = append(keys, "feeds")
	}
	return keys
}

// feedTexts is everything that feeds say, secrets included.
func feedTexts(feeds []Feed) (parts []string) {
	for _, f := range feeds {
		parts = append(parts, f.Name, f.URL.Reveal(), f.Secret.Reveal(), fmt.Sprint(f.Events, f.Alerts))
		if n := f.NATS; n != nil {
			parts = append(parts, n.URL.Reveal(), n.Stream, n.Subject)
		}
		if k := f.Kafka; k != nil {
			parts = append(parts, k.Topic, fmt.Sprint(k.Brokers))
		}
	}
	return parts
}

// quotaText is everything that a quota says, wherever it stands.
func quotaText(q Quota) string {
	credit := QuotaCredit{}
	if q.Credit != nil {
		credit = *q.Credit
	}
	windows := slices.Clone(q.Windows)
	for i := range windows {
		windows[i].At = Position{}
	}
	credit.At = Position{}
	return fmt.Sprintf("%q %s %q %+v %t %+v", q.Source, q.Interval, q.URL, windows, q.Credit != nil, credit)
}

func headerText(m map[string]Secret) string {
	names := slices.Sorted(maps.Keys(m))
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "%q:%q\n", n, m[n].Reveal())
	}
	return b.String()
}

// ProviderOf is an account's provider.
func (c *Config) ProviderOf(a *Account) *provider.Provider { return c.catalog[a.Provider] }

// Digest is the SHA-256 of the client's key.
func (c *Client) Digest() [sha256.Size]byte {
	if c.KeySHA256 == "" {
		return sha256.Sum256([]byte(c.Key.Reveal()))
	}
	var d [sha256.Size]byte
	_, _ = hex.Decode(d[:], []byte(c.KeySHA256)) // checked when it was read
	return d
}
