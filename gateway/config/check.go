package config

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/alert"
)

// checker finds what single values cannot show: names that clash, names that
// mean nothing, keys that exclude each other.
type checker struct {
	*reader
	*Config
}

func (c *checker) check() {
	c.accounts()
	c.models()
	c.clients()
	c.feeds()
	c.lease()
	c.exposure()
}

func (c *checker) accounts() {
	seen := map[string]Position{}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		c.unique(seen, "account", a.ID, a.At)
		c.providerOf(a)
		c.credential(a)
		c.quota(a)
		if a.BaseURL != "" {
			c.baseURL(a)
		}
	}
}

// unique reports an id that is missing or taken.
func (c *checker) unique(seen map[string]Position, what, id string, p Position) {
	if id == "" {
		c.fault(p, "add `id: some-name`", "%s has no id", what)
		return
	}
	if first, taken := seen[id]; taken {
		c.clash(what, id, first, p)
		return
	}
	seen[id] = p
}

// clash reports an id that is taken: the other one may come from the environment.
func (c *checker) clash(what, id string, first, second Position) {
	if second.Line > 0 {
		c.fault(second, "give one of them another id", "%s %q stands twice, first on line %d", what, id, first.Line)
		return
	}
	mend := "give the one in the file another id"
	if what == "account" {
		mend += ", or unset the variable"
	}
	c.fault(first, mend, "%s %q is also made by %s", what, id, c.madeBy(what, id))
}

// madeBy is the variable that makes an account or a client of an id.
func (c *checker) madeBy(what, id string) string {
	if what != "account" {
		return "WAYBILL_CLIENT_KEY"
	}
	for i := range c.Accounts {
		if a := &c.Accounts[i]; a.ID == id && a.FromEnv != "" {
			return a.FromEnv
		}
	}
	return "the environment"
}

func (c *checker) providerOf(a *Account) {
	p := c.catalog[a.Provider]
	switch {
	case a.Provider == "":
		c.fault(a.At, "add `provider:`, one of "+strings.Join(c.providerIDs(), ", "), "account %q has no provider", a.ID)
	case p == nil:
		c.fault(a.At, didYouMean(a.Provider, c.providerIDs())+"; openai-compatible with a base_url serves any other", "account %q: provider %q is not known", a.ID, a.Provider)
	case p.SignalsOnly:
		c.fault(a.At, "use another provider", "account %q: Waybill knows what %s answers but cannot send requests to it", a.ID, p.ID)
	case p.BaseURL == "" && a.BaseURL == "":
		c.fault(a.At, "add `base_url: https://host/v1`", "account %q: provider %s needs a base_url", a.ID, p.ID)
	}
}

func (c *checker) providerIDs() []string {
	return slices.Sorted(maps.Keys(c.catalog))
}

func (c *checker) credential(a *Account) {
	n := 0
	for _, has := range []bool{!a.APIKey.Empty(), a.APIKeyFile != "", len(a.CredentialCommand) > 0} {
		if has {
			n++
		}
	}
	if n > 1 {
		c.fault(a.At, "keep one of api_key, api_key_file and credential_command", "account %q has %d credentials", a.ID, n)
	}
	if n == 0 && c.catalog[a.Provider] != nil && a.Provider != "openai-compatible" {
		c.fault(a.At, "add `api_key: ${SOME_VARIABLE}`", "account %q has no credential", a.ID)
	}
}

func (c *checker) quota(a *Account) {
	q := &a.Quota
	p := c.catalog[a.Provider]
	switch {
	case q.Source == "preset" && p != nil && p.Quota == nil:
		c.fault(q.At, "use headers, push or http", "account %q: provider %s has no usage endpoint that Waybill knows", a.ID, a.Provider)
	case q.Source == "http" && q.URL == "":
		c.fault(q.At, "add `url:`", "account %q: quota source http needs a url", a.ID)
	case q.Source == "http" && len(q.Windows) == 0 && q.Credit == nil:
		c.fault(q.At, "add `windows:` or `credit:`", "account %q: quota source http needs a mapping of its answer", a.ID)
	case q.Source != "http" && (q.URL != "" || len(q.Windows) > 0 || q.Credit != nil || len(q.Headers) > 0):
		c.fault(q.At, "write `source: http`, or remove them", "account %q: url, headers, windows and credit belong to quota source http", a.ID)
	}
	if q.URL != "" {
		c.url(q.At, "url", q.URL)
	}
	for i := range q.Windows {
		if q.Windows[i].Name == "" && q.Windows[i].Each == "" {
			c.fault(q.Windows[i].At, "add `name:`", "account %q: a window of its quota has no name", a.ID)
		}
	}
}

// baseURL is extended by the path of each call: it ends with its own.
func (c *checker) baseURL(a *Account) {
	if u := c.url(a.At, "base_url", a.BaseURL); u != nil && (u.RawQuery != "" || u.ForceQuery || u.Fragment != "") {
		c.fault(a.At, "write it without ? and #; a key belongs in api_key", "account %q: its base_url has a query or a fragment", a.ID)
	}
}

// url is the address of a web server, nil when it is none, and that is reported
// without showing it: it may hold a secret.
func (c *checker) url(p Position, key, raw string) *url.URL {
	u, err := url.Parse(raw)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil:
		c.fault(p, "write https://host/path, without user and password", "%s is no address of a web server", key)
	case !validPort(u):
		c.fault(p, "write a port from 1 to 65535, or none", "%s has port %s, which there is not", key, u.Port())
	default:
		return u
	}
	return nil
}

// validPort: a URL's port, if it has one, is one.
func validPort(u *url.URL) bool {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && n > 0
}

func (c *checker) models() {
	seen := map[string]Position{}
	for i := range c.Models {
		m := &c.Models[i]
		switch first, taken := seen[m.Name]; {
		case m.Name == "":
			c.fault(m.At, "add `name:`", "a model has no name")
		case taken:
			c.fault(m.At, "make one model with several targets", "model %q stands twice, first on line %d", m.Name, first.Line)
		}
		seen[m.Name] = m.At
		if m.Targets == nil {
			c.fault(m.At, "add `targets: [{accounts: [...]}]`", "model %q has no targets", m.Name)
		}
		for j := range m.Targets {
			c.target(m, &m.Targets[j])
		}
	}
}

func (c *checker) target(m *Model, t *Target) {
	if (t.Accounts == nil) == (t.Provider == "") {
		c.fault(t.At, "name either `accounts:` or `provider:`", "a target of model %q needs one of both", m.Name)
	}
	ids := make([]string, len(c.Accounts))
	for i := range c.Accounts {
		ids[i] = c.Accounts[i].ID
	}
	for _, id := range t.Accounts {
		if !slices.Contains(ids, id) {
			c.fault(t.At, didYouMean(id, ids), "model %q: there is no account %q", m.Name, id)
		}
	}
	if t.Provider != "" && !slices.ContainsFunc(c.Accounts, func(a Account) bool { return a.Provider == t.Provider }) {
		c.fault(t.At, "add an account of it, or remove the target", "model %q: no account has the provider %q", m.Name, t.Provider)
	}
}

func (c *checker) clients() {
	seen := map[string]Position{}
	keys := map[string]string{}
	for i := range c.Clients {
		cl := &c.Clients[i]
		c.unique(seen, "client", cl.ID, cl.At)
		if cl.Key.Empty() == (cl.KeySHA256 == "") {
			c.fault(cl.At, "give it either `key: ${SOME_VARIABLE}` or the `key_sha256:` that `waybill keys new` prints", "client %q needs one key", cl.ID)
			continue
		}
		digest := cl.Digest()
		if other, taken := keys[string(digest[:])]; taken {
			c.fault(cl.At, "give each client a key of its own", "clients %q and %q have the same key", other, cl.ID)
		}
		keys[string(digest[:])] = cl.ID
	}
}

func (c *checker) feeds() {
	seen := map[string]Position{}
	for i := range c.Feeds {
		f := &c.Feeds[i]
		c.unique(seen, "feed", f.Name, f.At)
		c.sink(f)
		if f.Events == nil && f.Alerts == nil && f.NATS == nil && f.Kafka == nil {
			f.Alerts = alert.Kinds()
		}
	}
}

// sink checks the one place that a feed goes to.
func (c *checker) sink(f *Feed) {
	switch n := f.NATS; {
	case n != nil && f.Kafka != nil, !f.URL.Empty() && (n != nil || f.Kafka != nil):
		c.fault(f.At, "make a feed for each", "feed %q goes to more than one place", f.Name)
	case n != nil:
		if problem := checkServers(n.URL.Reveal(), "nats", "tls"); problem != "" {
			c.fault(n.At, "write nats://host:4222", "%s", problem)
		}
		if n.Subject == "" || strings.ContainsAny(n.Subject, " *>") {
			c.fault(n.At, "write a subject without wildcards, such as waybill.events", "nats needs a subject")
		}
		if strings.ContainsAny(n.Stream, " .*>/\\") {
			c.fault(n.At, "write a name without dots, blanks and wildcards", "%q is no name of a stream", n.Stream)
		}
	case f.Kafka != nil:
		if len(f.Kafka.Brokers) == 0 || f.Kafka.Topic == "" {
			c.fault(f.Kafka.At, "write kafka: {brokers: [host:9092], topic: waybill}", "kafka needs brokers and a topic")
		}
	default:
		c.url(f.At, "url", f.URL.Reveal())
	}
}

// lease keeps a trial's slot at least as long as its first token may take.
func (c *checker) lease() {
	least := c.Policy.LeastLease()
	if c.Policy.TrialLease >= least {
		return
	}
	p, said := c.places["policy.trial_lease"]
	if !said {
		c.Policy.TrialLease = least
		return
	}
	c.fault(p, "write at least "+short(least)+", or a shorter first_token_timeout",
		"trial_lease is below first_token_timeout + %s", events.LeaseMargin)
}

// exposure refuses to be open beyond this machine.
func (c *checker) exposure() {
	if !Loopback(c.Env.Listen) && len(c.Clients) == 0 {
		c.faults = append(c.faults, Fault{File: "WAYBILL_LISTEN", Problem: "without client keys anybody could spend the accounts: " + c.Env.Listen + " is beyond loopback",
			Mend: "set WAYBILL_CLIENT_KEY or clients: in the file (`waybill keys new` makes a key), or listen on 127.0.0.1"})
	}
	if !Loopback(c.Env.AdminListen) && c.Env.AdminToken.Empty() {
		c.faults = append(c.faults, Fault{File: "WAYBILL_ADMIN_LISTEN", Problem: "without a token anybody could act as the operator: " + c.Env.AdminListen + " is beyond loopback",
			Mend: "set WAYBILL_ADMIN_TOKEN, or listen on 127.0.0.1"})
	}
}

// settingsOf is what the ledger holds of an account.
func (c *Config) settingsOf(a *Account) events.Settings {
	p := c.catalog[a.Provider]
	s := events.Settings{
		Provider: a.Provider, Endpoint: c.endpoint(a), Group: a.QuotaGroup, Dialects: slices.Clone(p.Dialects),
		Known: p.Known, Models: a.Models, Families: p.Families, Weight: a.Weight, Priority: a.Priority,
		MaxConcurrent: a.MaxConcurrent, QuotaSource: c.QuotaSource(a),
	}
	for d := range p.Surfaces {
		s.Dialects = append(s.Dialects, d)
	}
	slices.Sort(s.Dialects)
	s.Dialects = slices.Compact(s.Dialects)
	return s
}

// endpoint is the host that an account is reached at.
func (c *Config) endpoint(a *Account) string {
	raw := a.BaseURL
	if raw == "" {
		raw = c.catalog[a.Provider].BaseURL
	}
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// QuotaSource is where an account's readings come from: what the file says,
// else the provider's own endpoint, else the headers of its answers.
func (c *Config) QuotaSource(a *Account) string {
	p := c.catalog[a.Provider]
	switch {
	case a.Quota.Source != "":
		return a.Quota.Source
	case p.Quota != nil:
		return "preset"
	case p.InBand != nil:
		return "headers"
	}
	return "none"
}
