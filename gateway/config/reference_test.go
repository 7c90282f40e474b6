package config

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
)

var update = flag.Bool("update", false, "write docs/config.md")

func TestTheReferenceIsFresh(t *testing.T) {
	const path = "../../docs/config.md"
	if *update {
		if err := os.WriteFile(path, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.ReadFile(path)
	if err != nil || string(held) != Reference() {
		t.Fatalf("docs/config.md is stale (%v): run `make docs`", err)
	}
}

// effect is everything that a configuration does, comparable.
func effect(c *Config) string {
	d := c.Document()
	return strings.Join([]string{c.Digest().String(), c.SecretsDigest().String(), d.Digest().String()}, " ")
}

// Test_B124_every_key_changes_something writes each key alone and looks whether
// anything comes of it: a key that is read and forgotten fails here.
func Test_B124_every_key_changes_something(t *testing.T) {
	// other is a value that differs from the base, by key.
	base := `accounts:
  - {id: a, provider: openai-compatible, base_url: 'http://h/v1'}
  - {id: b, provider: metered, api_key: kb, quota: {source: http, url: 'http://q', windows: [{name: w}], credit: {used: u}}}
models:
  - {name: m, targets: [{accounts: [a]}]}
clients:
  - {id: c, key: k}
feeds:
  - {name: f, url: 'http://f'}
  - {name: n, nats: {url: 'nats://n', subject: s}}
  - {name: k, kafka: {brokers: ['k:9092'], topic: t}}
`
	rows := map[string]struct{ from, to string }{
		"accounts[].id":                        {"id: a,", "id: other,"},
		"accounts[].provider":                  {"provider: metered", "provider: openai"},
		"accounts[].api_key":                   {"api_key: kb", "api_key: kc"},
		"accounts[].api_key_file":              {"api_key: kb", "api_key_file: f"},
		"accounts[].credential_command":        {"api_key: kb", "credential_command: [prog]"},
		"accounts[].base_url":                  {"http://h/v1", "http://h/v2"},
		"accounts[].models":                    {"id: b,", "id: b, models: [x],"},
		"accounts[].priority":                  {"id: b,", "id: b, priority: 1,"},
		"accounts[].weight":                    {"id: b,", "id: b, weight: 2,"},
		"accounts[].max_concurrent":            {"id: b,", "id: b, max_concurrent: 1,"},
		"accounts[].quota_group":               {"id: b,", "id: b, quota_group: g,"},
		"accounts[].headers":                   {"id: b,", "id: b, headers: {X-A: b},"},
		"accounts[].quota.source":              {"quota: {source: http, url: 'http://q', windows: [{name: w}], credit: {used: u}}", "quota: {source: push}"},
		"accounts[].quota.interval":            {"url: 'http://q'", "url: 'http://q', interval: 9s"},
		"accounts[].quota.url":                 {"http://q", "http://r"},
		"accounts[].quota.headers":             {"url: 'http://q'", "url: 'http://q', headers: {X-B: c}"},
		"accounts[].quota.windows[].name":      {"name: w", "name: v"},
		"accounts[].quota.windows[].scope":     {"name: w", "name: w, scope: group"},
		"accounts[].quota.windows[].length":    {"name: w", "name: w, length: 5h"},
		"accounts[].quota.windows[].each":      {"name: w", "name: w, each: list"},
		"accounts[].quota.windows[].used":      {"name: w", "name: w, used: x"},
		"accounts[].quota.windows[].limit":     {"name: w", "name: w, limit: x"},
		"accounts[].quota.windows[].remaining": {"name: w", "name: w, remaining: x"},
		"accounts[].quota.windows[].ratio":     {"name: w", "name: w, ratio: true"},
		"accounts[].quota.windows[].percent":   {"name: w", "name: w, percent: true"},
		"accounts[].quota.windows[].reached":   {"name: w", "name: w, reached: x"},
		"accounts[].quota.windows[].resets_at": {"name: w", "name: w, resets_at: x"},
		"accounts[].quota.credit.used":         {"used: u", "used: v"},
		"accounts[].quota.credit.limit":        {"used: u", "used: u, limit: x"},
		"accounts[].quota.credit.available":    {"used: u", "used: u, available: x"},
		"accounts[].quota.credit.reached":      {"used: u", "used: u, reached: x"},
		"accounts[].quota.credit.resets_at":    {"used: u", "used: u, resets_at: x"},
		"models[].name":                        {"name: m,", "name: n,"},
		"models[].strategy":                    {"name: m,", "name: m, strategy: ordered,"},
		"models[].targets[].accounts":          {"accounts: [a]", "accounts: [b]"},
		"models[].targets[].provider":          {"accounts: [a]", "provider: metered"},
		"models[].targets[].model":             {"accounts: [a]", "accounts: [a], model: x"},
		"clients[].id":                         {"id: c,", "id: d,"},
		"clients[].key":                        {"key: k}", "key: l}"},
		"clients[].key_sha256":                 {"key: k}", "key_sha256: " + strings.Repeat("ab", 32) + "}"},
		"clients[].models":                     {"key: k}", "key: k, models: [m]}"},
		"clients[].rpm":                        {"key: k}", "key: k, rpm: 1}"},
		"clients[].max_concurrent":             {"key: k}", "key: k, max_concurrent: 1}"},
		"feeds[].name":                         {"name: f", "name: g"},
		"feeds[].url":                          {"http://f", "http://g"},
		"feeds[].secret":                       {"name: f", "name: f, secret: s"},
		"feeds[].events":                       {"name: f", "name: f, events: [pin.set]"},
		"feeds[].alerts":                       {"name: f", "name: f, alerts: [spooling]"},
		"feeds[].nats.url":                     {"nats://n", "nats://o"},
		"feeds[].nats.subject":                 {"subject: s", "subject: r"},
		"feeds[].nats.stream":                  {"subject: s", "subject: s, stream: r"},
		"feeds[].kafka.brokers":                {"k:9092", "l:9092"},
		"feeds[].kafka.topic":                  {"topic: t", "topic: u"},
		"accounts_from_env":                    {"models:", "accounts_from_env: true\nmodels:"},
		"ledger.require_roles":                 {"models:", "ledger: {require_roles: true}\nmodels:"},
		"ledger.checkpoint_interval":           {"models:", "ledger: {checkpoint_interval: 1m}\nmodels:"},
		"ledger.checkpoint_dir":                {"models:", "ledger: {checkpoint_dir: notes}\nmodels:"},
		"ledger.checkpoint_key":                {"models:", "ledger: {checkpoint_key: key}\nmodels:"},
		"ledger.retain":                        {"models:", "ledger: {retain: 2160h}\nmodels:"},
		"ledger.archive_dir":                   {"models:", "ledger: {archive_dir: old}\nmodels:"},
		"ledger.segment":                       {"models:", "ledger: {segment: 5000}\nmodels:"},
		"spool_max":                            {"models:", "spool_max: 7MiB\nmodels:"},
		"expose_account":                       {"models:", "expose_account: true\nmodels:"},
		"rules":                                {"models:", "rules: {metered.guess: off}\nmodels:"},
		"prices":                               {"models:", "prices: ../../docs/prices.yaml\nmodels:"},
		"policy.reserve":                       {"models:", "policy: {reserve: 1}\nmodels:"},
		"policy.health_threshold":              {"models:", "policy: {health_threshold: 7}\nmodels:"},
		"policy.max_attempts":                  {"models:", "policy: {max_attempts: 7}\nmodels:"},
		"policy.max_body":                      {"models:", "policy: {max_body: 7MiB}\nmodels:"},
		"policy.when_exhausted":                {"models:", "policy: {when_exhausted: refuse}\nmodels:"},
		"policy.honour_should_retry":           {"models:", "policy: {honour_should_retry: never}\nmodels:"},
		"policy.trial_lease":                   {"models:", "policy: {trial_lease: 900s}\nmodels:"},
	}
	vars := map[string]string{"OPENAI_API_KEY": "sk-env"}
	plain, err := load(t, base, vars)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := load(t, base, vars); err != nil || effect(again) != effect(plain) {
		t.Fatalf("the same file has another effect: %v", err)
	}
	for _, key := range leaves("", fileFields(&File{})) {
		r, ok := rows[key]
		if !ok && strings.HasPrefix(key, "policy.") {
			r.from, r.to, ok = "models:", "policy: {"+strings.TrimPrefix(key, "policy.")+": 7s}\nmodels:", true
		}
		t.Run(key, func(t *testing.T) {
			if !ok || !strings.Contains(base, r.from) {
				t.Fatal("this test does not know the key: add a row")
			}
			changed, err := load(t, strings.Replace(base, r.from, r.to, 1), vars)
			if key == "accounts[].id" {
				changed, err = load(t, strings.ReplaceAll(strings.Replace(base, r.from, r.to, 1), "accounts: [a]", "accounts: [other]"), vars)
			}
			if err != nil {
				t.Fatal(err)
			}
			if effect(plain) == effect(changed) {
				t.Error("nothing comes of it")
			}
		})
	}
}

// leaves are the keys that hold a value.
func leaves(path string, fields []field) (keys []string) {
	for _, f := range fields {
		key := f.key
		if path != "" {
			key = path + "." + key
		}
		switch {
		case f.sub == nil:
			keys = append(keys, key)
		case f.kind == "list":
			keys = append(keys, leaves(key+"[]", f.sub())...)
		default:
			keys = append(keys, leaves(key, f.sub())...)
		}
	}
	return keys
}

func TestWhatIsReadAtStartIsSaidToNeedARestart(t *testing.T) {
	load := func(text string) *Config {
		c, err := load(t, "accounts: [{id: a, provider: openai, api_key: k}]\n"+text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	was := load("")
	for text, want := range map[string]string{"": "", "expose_account: true\n": "", "ledger: {retain: 48h}\n": "ledger", "spool_max: 7MiB\n": "spool_max",
		"feeds: [{name: f, url: 'http://f'}]\nspool_max: 7MiB\n": "spool_max feeds"} {
		if got := strings.Join(was.Restart(load(text)), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestEveryKnobOfThePolicyIsASetting(t *testing.T) {
	var p events.Policy
	if got, want := len(policyFields(&p)), reflect.TypeFor[events.Policy]().NumField(); got != want {
		t.Errorf("%d settings for %d knobs", got, want)
	}
}

func TestEverySettingIsExplained(t *testing.T) {
	var walk func(path string, fields []field)
	walk = func(path string, fields []field) {
		for _, f := range fields {
			if f.doc == "" || f.kind == "" {
				t.Errorf("%s.%s says nothing", path, f.key)
			}
			if f.sub != nil {
				walk(path+"."+f.key, f.sub())
			}
		}
	}
	walk("", fileFields(&File{}))
	typ := reflect.TypeFor[Environment]()
	for i := range typ.NumField() {
		if typ.Field(i).Tag.Get("doc") == "" {
			t.Errorf("%s says nothing", typ.Field(i).Name)
		}
	}
}
