package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// catalogue stands for the table of providers, which only commands know.
func testProviders() []*provider.Provider {
	return []*provider.Provider{
		{ID: "openai", BaseURL: "https://api.openai.com/v1", EnvKey: "OPENAI_API_KEY", Dialects: []events.Dialect{events.DialectOpenAI},
			InBand: func(*provider.Answer) *events.Reading { return nil }},
		{ID: "anthropic", BaseURL: "https://api.anthropic.com", EnvKey: "ANTHROPIC_API_KEY", Dialects: []events.Dialect{events.DialectAnthropic}},
		{ID: "metered", BaseURL: "https://metered.example/v1", Dialects: []events.Dialect{events.DialectOpenAI}, Quota: &provider.Preset{Name: "usage"},
			Rules: []provider.Rule{
				{ID: "metered.guess", Statuses: []int{429}, Class: events.ClassWindowExhausted, Confidence: provider.Low},
				{ID: "metered.sure", Statuses: []int{402}, Class: events.ClassCreditsExhausted},
			}},
		{ID: "openai-compatible", Dialects: []events.Dialect{events.DialectOpenAI}},
		{ID: "bedrock", BaseURL: "https://bedrock.example", SignalsOnly: true},
	}
}

func load(t *testing.T, text string, vars map[string]string) (*Config, error) {
	t.Helper()
	s := Sources{Vars: vars, Providers: testProviders()}
	if s.Vars == nil {
		s.Vars = map[string]string{}
	}
	var err error
	if s.Env, _, err = ReadEnvironment(s.Vars); err != nil {
		return nil, err
	}
	if text != "" {
		s.Path = filepath.Join(t.TempDir(), "waybill.yaml")
		if err := os.WriteFile(s.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(s)
}

const whole1 = `
accounts:
  - id: a
    provider: openai
    api_key: ${A_KEY}
    models: ["gpt-4*"]
    priority: 2
    weight: 3
    max_concurrent: 4
    quota_group: team
    headers: {X-Team: "${TEAM:-blue}"}
    quota: {source: push, interval: 90s}
  - {id: b, provider: openai-compatible, base_url: "http://127.0.0.1:1/v1"}
models:
  - name: m1
    strategy: ordered
    targets:
      - {accounts: [a, b], model: up}
      - {provider: openai}
clients:
  - {id: app, key: ${APP_KEY}, models: ["m*"], rpm: 5, max_concurrent: 6}
policy: {park_cap: 2s, reserve: 7.5, max_body: 1MiB, when_exhausted: refuse, honour_should_retry: never}
expose_account: true
`

func TestAWholeFileIsRead(t *testing.T) {
	c, err := load(t, whole1, map[string]string{"A_KEY": "sk-1234567890abcdef", "APP_KEY": "ck-test"})
	if err != nil {
		t.Fatal(err)
	}
	a := c.Accounts[0]
	if a.APIKey.Reveal() != "sk-1234567890abcdef" || a.Headers["X-Team"].Reveal() != "blue" || a.Quota.Interval != 90*time.Second {
		t.Fatalf("account: %+v", a)
	}
	if c.Accounts[1].Weight != 1 {
		t.Errorf("an absent weight is %d", c.Accounts[1].Weight)
	}
	p := c.Policy
	if p.ParkCap != 2*time.Second || p.Reserve != 7_500_000 || p.MaxBody != 1<<20 || p.WhenExhausted != events.WhenExhaustedRefuse || p.HonourShouldRetry != events.HonourNever {
		t.Fatalf("policy: %+v", p)
	}
	if p.PinTTL != events.DefaultPolicy().PinTTL {
		t.Errorf("an absent knob lost its default")
	}
	d := c.Document()
	if len(d.Models) != 1 || d.Models[0].Tiers[0].Model != "up" || d.Models[0].Tiers[1].Provider != "openai" || d.Clients[0].RPM != 5 {
		t.Fatalf("document: %+v", d)
	}
	e := c.Enrolments(func(*Account) events.Epoch { return 9 })
	if e[0].Epoch != 9 || e[0].Settings.Endpoint != "api.openai.com" || e[1].Settings.Endpoint != "127.0.0.1:1" || e[0].Settings.QuotaSource != "push" {
		t.Fatalf("enrolments: %+v", e)
	}
}

func TestEveryFaultNamesItsPlaceAndTheMend(t *testing.T) {
	account := "accounts:\n  - {id: a, provider: openai, api_key: k1}\n"
	rows := []struct{ name, text, line, problem, mend string }{
		{"an unknown key", "acounts: []\n", "1:1", `unknown key "acounts"`, `did you mean "accounts"?`},
		{"a feed of no kind of event", account + "feeds:\n  - {name: f, url: 'http://f', events: [request.refuse]}\n", "4:41", `"request.refuse" is no kind of event`, "request.refused"},
		{"a feed without a web address", account + "feeds:\n  - {name: f, url: nowhere}\n", "4:", "url is no address", "https://host/path"},
		{"a feed of two places", account + "feeds:\n  - {name: f, url: 'http://f', nats: {url: 'nats://h', subject: s}}\n", "4:", "more than one place", "make a feed for each"},
		{"a feed of NATS without a subject", account + "feeds:\n  - {name: f, nats: {url: 'nats://u:secret@h'}}\n", "4:", "needs a subject", "waybill.events"},
		{"a feed of NATS that is none", account + "feeds:\n  - {name: f, nats: {url: 'http://h', subject: s}}\n", "4:", "no scheme of NATS", "nats://host:4222"},
		{"a stream with a dot", account + "feeds:\n  - {name: f, nats: {url: 'nats://h', subject: s, stream: a.b}}\n", "4:", "no name of a stream", "without dots"},
		{"a feed of Kafka without a topic", account + "feeds:\n  - {name: f, kafka: {brokers: ['h:9092']}}\n", "4:", "needs brokers and a topic", "topic: waybill"},
		{"a broker without a port", account + "feeds:\n  - {name: f, kafka: {brokers: [h], topic: t}}\n", "4:", "no address", "kafka:9092"},
		{"a feed of no alert", account + "feeds:\n  - {name: f, url: 'http://f', alerts: [account_park]}\n", "4:", "no alert", "account_parked"},
		{"a feed twice", account + "feeds:\n  - {name: f, url: 'http://f'}\n  - {name: f, url: 'http://g'}\n", "5:", `feed "f" stands twice, first on line 4`, "another id"},
		{"an unknown key of an account", "accounts:\n  - id: a\n    provider: openai\n    api_kye: k\n", "4:5", `unknown key "api_kye"`, `did you mean "api_key"?`},
		{"an unset variable", "accounts:\n  - {id: a, provider: openai, api_key: ${NOPE}}\n", "2:", "variable NOPE is not set", "${NOPE:-default}"},
		{"half a variable", "accounts:\n  - {id: a, provider: openai, api_key: \"${NOPE\"}\n", "2:", "is no variable", "${NAME}"},
		{"an empty list", "accounts: []\n", "1:11", "accounts is an empty list", "leave the key out"},
		{"an empty list of clients", "clients: []\n", "1:10", "clients is an empty list", "leave the key out"},
		{"an empty value", account + "policy: {park_cap: }\n", "3:", "park_cap is empty", "leave the key out"},
		{"a duplicate account", account + "  - {id: a, provider: openai, api_key: k2}\n", "3:", `account "a" stands twice, first on line 2`, "another id"},
		{"a duplicate key", "expose_account: true\nexpose_account: true\n", "2:1", "expose_account", ""},
		{"a bad duration", account + "policy:\n  park_cap: 5 minutes\n", "4:13", `"5 minutes" is no duration`, "such as 300ms"},
		{"a duration without unit", account + "policy:\n  park_cap: 30\n", "4:13", `"30" is no duration`, "such as 300ms"},
		{"a negative duration", account + "policy:\n  park_cap: -1s\n", "4:13", "out of range", "write a time from"},
		{"a size below the least", account + "policy:\n  max_body: 1023B\n", "4:13", "1023B is out of range", "write a size from 1KiB to 4GiB"},
		{"a size above the greatest", account + "policy:\n  max_body: 5GiB\n", "4:13", "5GiB is out of range", "write a size from 1KiB to 4GiB"},
		{"a bad id", "accounts:\n  - {id: A b, provider: openai, api_key: k}\n", "2:", `"A b" is no id`, "a-z"},
		{"a bad glob", "accounts:\n  - {id: a, provider: openai, api_key: k, models: ['gpt-[4]']}\n", "2:", "is no glob", "stands for anything"},
		{"an unknown provider", "accounts:\n  - {id: a, provider: opnai, api_key: k}\n", "2:", `provider "opnai" is not known`, `did you mean "openai"?`},
		{"a provider without address", "accounts:\n  - {id: a, provider: openai-compatible}\n", "2:", "needs a base_url", "base_url: https://"},
		{"a provider that cannot be called", "accounts:\n  - {id: a, provider: bedrock, api_key: k}\n", "2:", "cannot send requests", "another provider"},
		{"two credentials", "accounts:\n  - {id: a, provider: openai, api_key: k, api_key_file: f}\n", "2:", "has 2 credentials", "keep one"},
		{"no credential", "accounts:\n  - {id: a, provider: openai}\n", "2:", "has no credential", "api_key"},
		{"a key with a blank", "accounts:\n  - {id: a, provider: openai, api_key: 'sk 1'}\n", "2:", "holds a blank", "remove spaces"},
		{"a key with a line break", "accounts:\n  - id: a\n    provider: openai\n    api_key: \"sk\\n\"\n", "4:", "holds a blank", "remove spaces"},
		{"an address with a password", "accounts:\n  - {id: a, provider: openai, api_key: k, base_url: 'https://u:p@h/v1'}\n", "2:", "base_url is no address", "without user"},
		{"an address with a query", "accounts:\n  - {id: a, provider: openai, api_key: k, base_url: 'https://h/v1?key=sk-1'}\n", "2:", "query or a fragment", "a key belongs in api_key"},
		{"an address with a fragment", "accounts:\n  - {id: a, provider: openai, api_key: k, base_url: 'https://h/v1#x'}\n", "2:", "query or a fragment", "without ? and #"},
		{"an address with a port that there is not", "accounts:\n  - {id: a, provider: openai, api_key: k, base_url: 'https://h:99999/v1'}\n", "2:", "base_url has port 99999", "1 to 65535"},
		{"a usage endpoint with a port that there is not", "accounts:\n  - {id: a, provider: openai, api_key: k, quota: {source: http, url: 'http://h:0', windows: [{name: w}]}}\n", "2:", "url has port 0", "1 to 65535"},
		{"a broker with a port that there is not", account + "feeds:\n  - {name: f, kafka: {brokers: ['h:99999'], topic: t}}\n", "4:", "no address", "kafka:9092"},
		{"a server of NATS with a port that there is not", account + "feeds:\n  - {name: f, nats: {url: 'nats://h:99999', subject: s}}\n", "4:", "port 99999", "nats://host:4222"},
		{"a header with a blank in its name", "accounts:\n  - {id: a, provider: openai, api_key: k, headers: {'X Team': a}}\n", "2:", `"X Team" is no name of a header`, "letters, digits and dashes"},
		{"a header with a colon in its name", "accounts:\n  - {id: a, provider: openai, api_key: k, headers: {'X-Team:': a}}\n", "2:", "is no name of a header", "letters"},
		{"a header with a line break", "accounts:\n  - id: a\n    provider: openai\n    api_key: k\n    headers: {X-Team: \"a\\nX-B: c\"}\n", "5:", "headers.X-Team: its value cannot be sent", "line breaks"},
		{"a header with a control character", "accounts:\n  - id: a\n    provider: openai\n    api_key: k\n    headers: {X-Team: \"a\\x7f\"}\n", "5:", "headers.X-Team: its value cannot be sent", "control characters"},
		{"a header of the connection", "accounts:\n  - {id: a, provider: openai, api_key: k, headers: {content-length: 5}}\n", "2:", "Content-Length belongs to the connection", "leave it out"},
		{"a header twice", "accounts:\n  - {id: a, provider: openai, api_key: k, headers: {X-A: a, x-a: b}}\n", "2:", "X-A stands twice", "keep one"},
		{"a header of a usage endpoint", "accounts:\n  - {id: a, provider: openai, api_key: k, quota: {source: http, url: 'http://h', headers: {'X Y': a}, windows: [{name: w}]}}\n", "2:", "is no name of a header", "letters"},
		{"a file of prices that is not there", account + "prices: nowhere.yaml\n", "", "nowhere.yaml: there is no such file", "file of prices"},
		{"a lease that is too short", account + "policy: {trial_lease: 40s}\n", "3:", "trial_lease is below first_token_timeout", "write at least 2m30s"},
		{"a strategy that is not known", account + "models:\n  - {name: m, strategy: fastest, targets: [{accounts: [a]}]}\n", "4:", `"fastest" is not known`, "balanced"},
		{"a target that is not there", account + "models:\n  - {name: m, targets: [{accounts: [aa]}]}\n", "4:", `there is no account "aa"`, `did you mean "a"?`},
		{"a target that names nothing", account + "models:\n  - {name: m, targets: [{model: x}]}\n", "4:", "needs one of both", "accounts"},
		{"a model without targets", account + "models:\n  - {name: m}\n", "4:", "has no targets", "targets"},
		{"an unset variable is the only fault of its account", "accounts:\n  - {id: a, provider: openai, api_key: '${NOPE_KEY}'}\n", "2:", "NOPE_KEY", "NOPE_KEY"},
		{"brackets without end", "accounts: " + strings.Repeat("[", 5000), "1:", "nested more than 100 deep", "five"},
		{"a client without key", account + "clients:\n  - {id: c}\n", "4:", "needs one key", "waybill keys new"},
		{"a client with an empty key", account + "clients:\n  - {id: c, key: ''}\n", "4:", "key: is empty", "give it a value"},
		{"two clients with one key", account + "clients:\n  - {id: c, key: k}\n  - {id: d, key: k}\n", "5:", "have the same key", "key of its own"},
		{"a digest that is none", account + "clients:\n  - {id: c, key_sha256: abc}\n", "4:", "is no SHA-256", "64 hex digits"},
		{"no preset", "accounts:\n  - {id: a, provider: openai, api_key: k, quota: {source: preset}}\n", "2:", "no usage endpoint", "headers, push or http"},
		{"http without mapping", "accounts:\n  - {id: a, provider: openai, api_key: k, quota: {source: http, url: 'https://h'}}\n", "2:", "needs a mapping", "windows"},
		{"a list where a mapping belongs", "policy: [a]\n", "1:", "policy must be a mapping", "key: value"},
		{"a mapping where a list belongs", "accounts: {id: a}\n", "1:", "accounts must be a list", "- item"},
		{"broken YAML", "accounts:\n  - {id: a\n", "", "not YAML", "check indentation"},
		{"two documents", "expose_account: true\n---\nexpose_account: true\n", "3:", "second YAML document", "one document"},
		{"an unknown alias", "accounts: *nope\n", "1:", "names no anchor", "define"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := load(t, r.text, nil)
			var faults Faults
			if !errors.As(err, &faults) {
				t.Fatalf("accepted, or another error: %v", err)
			}
			got := faults.Error()
			if !strings.Contains(got, ".yaml:"+r.line) || !strings.Contains(got, r.problem) || !strings.Contains(got, r.mend) {
				t.Fatalf("want %q, %q and %q in\n%s", r.line, r.problem, r.mend, got)
			}
		})
	}
}

func TestAnIdThatTheEnvironmentMakesTooIsToldWithItsVariable(t *testing.T) {
	account := "accounts_from_env: true\naccounts:\n  - {id: openai, provider: openai, api_key: k1}\n"
	_, err := load(t, account, map[string]string{"OPENAI_API_KEY": "sk-env"})
	if err == nil || !strings.Contains(err.Error(), ".yaml:3:") || !strings.Contains(err.Error(), `account "openai" is also made by OPENAI_API_KEY`) || !strings.Contains(err.Error(), "unset the variable") {
		t.Error(err)
	}
	_, err = load(t, "clients:\n  - {id: default, key: k}\n", map[string]string{"WAYBILL_CLIENT_KEY": "other"})
	if err == nil || !strings.Contains(err.Error(), ".yaml:2:") || !strings.Contains(err.Error(), `client "default" is also made by WAYBILL_CLIENT_KEY`) {
		t.Error(err)
	}
}

func TestTheKeysThatThereAreAreToldOnce(t *testing.T) {
	_, err := load(t, "zzzzzzzzzz: 1\nyyyyyyyyyy: 1\npolcy: 1\n", nil)
	if err == nil || strings.Count(err.Error(), "use one of accounts, ") != 1 || !strings.Contains(err.Error(), `did you mean "policy"?`) || !strings.Contains(err.Error(), "keys above") {
		t.Error(err)
	}
}

func TestAllFaultsOfAFileAreToldAtOnce(t *testing.T) {
	_, err := load(t, "acounts: []\npolicy: {park_cap: x}\n", nil)
	var faults Faults
	if !errors.As(err, &faults) || len(faults) != 2 || faults[0].Line != 1 || faults[1].Line != 2 {
		t.Fatalf("%v", err)
	}
}

func TestAVariablesValueNeverBecomesYAML(t *testing.T) {
	c, err := load(t, "accounts:\n  - {id: a, provider: openai, api_key: k, quota_group: \"${G}\"}\n",
		map[string]string{"G": "x, id: b}"})
	if err != nil || c.Accounts[0].QuotaGroup != "x, id: b}" {
		t.Fatalf("%v", err)
	}
}

func TestVariablesAreFilledIn(t *testing.T) {
	vars := map[string]string{"SET": "v", "EMPTY": ""}
	rows := map[string]string{"${SET}": "v", "a${SET}b": "avb", "${NOPE:-d}": "d", "${EMPTY:-d}": "d", "${EMPTY}": "", "$${SET}": "${SET}", "$SET": "$SET", "${NOPE:-}": ""}
	for in, want := range rows {
		r := newReader("f", func(n string) (string, bool) { v, ok := vars[n]; return v, ok })
		if got, ok := r.expand(in, Position{1, 1}); got != want || !ok {
			t.Errorf("%s: %q %v, want %q; %v", in, got, ok, want, r.faults)
		}
	}
}

func TestAnUnsaidLeaseFollowsTheFirstTokenTimeout(t *testing.T) {
	c, err := load(t, "policy: {first_token_timeout: 5m}\n", nil)
	if err != nil || c.Policy.TrialLease != 5*time.Minute+events.LeaseMargin {
		t.Fatalf("%v, %v", c.Policy.TrialLease, err)
	}
}

func TestProviderKeysInTheEnvironmentMakeAccounts(t *testing.T) {
	vars := map[string]string{"OPENAI_API_KEY": "k1-aaaaaaaaaaaa", "OPENAI_API_KEY_3": "k3", "OPENAI_API_KEY_2": "k2", "ANTHROPIC_API_KEY": "x",
		"OPENAI_API_KEY_1": "no", "OPENAI_API_KEY_02": "no", "OPENAI_API_KEY_x": "no", "OPENAI_API_KEY_4": ""}
	c, err := load(t, "", vars)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, a := range c.Accounts {
		ids = append(ids, a.ID+"="+a.APIKey.Reveal())
	}
	if got := strings.Join(ids, " "); got != "openai=k1-aaaaaaaaaaaa openai-2=k2 openai-3=k3 anthropic=x" {
		t.Fatal(got)
	}
	if c, err = load(t, "expose_account: true\n", vars); err != nil || len(c.Accounts) != 0 {
		t.Fatalf("with a file: %v, %v", c, err)
	}
	if c, err = load(t, "accounts_from_env: true\n", vars); err != nil || len(c.Accounts) != 4 {
		t.Fatalf("with accounts_from_env: %v, %v", c, err)
	}
	if _, err = load(t, "", map[string]string{"OPENAI_API_KEY": "sk-1 \n"}); err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
		t.Fatalf("a key with a blank: %v", err)
	}
}

func Test_B142_no_keys_configured_never_means_an_open_proxy_beyond_loopback(t *testing.T) {
	account := "accounts:\n  - {id: a, provider: openai, api_key: k1}\n"
	rows := []struct {
		name, text string
		vars       map[string]string
		ok         bool
	}{
		{"loopback without keys is open", account, nil, true},
		{"an empty list of clients", account + "clients: []\n", nil, false},
		{"an empty key", account + "clients: [{id: a, key: ''}]\n", nil, false},
		{"a blank key", account + "clients: [{id: a, key: ' '}]\n", nil, false},
		{"an unset key", account + "clients: [{id: a, key: ${UNSET}}]\n", nil, false},
		{"an empty variable in a key", account + "clients: [{id: a, key: ${EMPTY}}]\n", map[string]string{"EMPTY": ""}, false},
		{"WAYBILL_CLIENT_KEY set and empty", account, map[string]string{"WAYBILL_CLIENT_KEY": ""}, false},
		{"WAYBILL_CLIENT_KEY blank", account, map[string]string{"WAYBILL_CLIENT_KEY": " "}, false},
		{"WAYBILL_CLIENT_KEY with an empty part", account, map[string]string{"WAYBILL_CLIENT_KEY": "k,,l"}, false},
		{"WAYBILL_CLIENT_KEY with two keys", account, map[string]string{"WAYBILL_CLIENT_KEY": "k, l"}, true},
		{"every interface without keys", account, map[string]string{"WAYBILL_LISTEN": ":8787"}, false},
		{"every interface with a key", account, map[string]string{"WAYBILL_LISTEN": "0.0.0.0:8787", "WAYBILL_CLIENT_KEY": "k"}, true},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if _, err := load(t, r.text, r.vars); (err == nil) != r.ok {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestTheKeysOfTheEnvironmentMakeAClientEach(t *testing.T) {
	c, err := load(t, "", map[string]string{"WAYBILL_CLIENT_KEY": "k, l, m"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range c.Clients {
		ids = append(ids, c.Clients[i].ID)
	}
	if got := strings.Join(ids, " "); got != "default default-2 default-3" {
		t.Errorf("clients %s", got)
	}
}

func Test_B148_beyond_loopback_without_a_token_the_admin_api_does_not_start(t *testing.T) {
	for addr, ok := range map[string]bool{
		"127.0.0.1:8788": true, "localhost:8788": true, "[::1]:8788": true, "127.8.8.8:1": true,
		"0.0.0.0:8788": false, ":8788": false, "[::]:8788": false, "192.168.1.4:8788": false, "waybill.example:8788": false,
	} {
		_, err := load(t, "", map[string]string{"WAYBILL_ADMIN_LISTEN": addr})
		if (err == nil) != ok {
			t.Errorf("%s without token: %v", addr, err)
		}
		if _, err = load(t, "", map[string]string{"WAYBILL_ADMIN_LISTEN": addr, "WAYBILL_ADMIN_TOKEN": "t"}); err != nil {
			t.Errorf("%s with token: %v", addr, err)
		}
	}
	for _, empty := range []string{"", " ", "a b"} {
		if _, err := load(t, "", map[string]string{"WAYBILL_ADMIN_LISTEN": ":8788", "WAYBILL_ADMIN_TOKEN": empty}); err == nil {
			t.Errorf("token %q was accepted", empty)
		}
	}
}

func TestTheEnvironmentIsChecked(t *testing.T) {
	for name, value := range map[string]string{
		"WAYBILL_LISTEN": "8787", "WAYBILL_ADMIN_LISTEN": "host:port", "WAYBILL_DURABILITY": "loose",
		"WAYBILL_LOG_FORMAT": "xml", "WAYBILL_LOG_LEVEL": "loud", "WAYBILL_BUS": "kafka",
	} {
		if _, _, err := ReadEnvironment(map[string]string{name: value}); err == nil {
			t.Errorf("%s=%s was accepted", name, value)
		}
	}
	const there = "postgres://h/d"
	for _, r := range []struct{ bus, ledger, problem string }{
		{"local", "", ""}, {"postgres", there, ""}, {"nats://h:4222", there, ""}, {"nats://u:secret@h,tls://i", there, ""},
		{"postgres", "", "needs no bus"}, {"nats://h", "sqlite:x.db", "needs no bus"}, {"http://h", there, "no scheme"},
		{"nats://", there, "names no host"}, {"nats://u:secret@h:port", there, "cannot be read"}, {"natz", there, "not known"},
	} {
		vars := map[string]string{"WAYBILL_BUS": r.bus}
		if r.ledger != "" {
			vars["WAYBILL_LEDGER"] = r.ledger
		}
		_, _, err := ReadEnvironment(vars)
		if (err == nil) != (r.problem == "") || err != nil && (!strings.Contains(err.Error(), r.problem) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("bus %s of %q: %v", r.bus, r.ledger, err)
		}
	}
	_, warnings, err := ReadEnvironment(map[string]string{"WAYBILL_LISTN": "x", "WAYBILL_TEST_POSTGRES": "x", "HOME": "/"})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "did you mean WAYBILL_LISTEN?") {
		t.Fatalf("%v, %v", warnings, err)
	}
}

// TestACredentialThatCannotBeReadIsOneFault: that it is missing too would send
// people the wrong way.
func TestACredentialThatCannotBeReadIsOneFault(t *testing.T) {
	for _, text := range []string{"accounts:\n  - {id: a, provider: openai, api_key: \"${NOPE_KEY}\"}\n", "accounts:\n  - {id: a, provider: openai, api_key: k}\nclients:\n  - {id: c, key: \"${NOPE_KEY}\"}\n"} {
		_, err := load(t, text, nil)
		var faults Faults
		if !errors.As(err, &faults) || len(faults) != 1 {
			t.Errorf("%s gives %v", text, err)
		}
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	s := NewSecret("sk-very-secret-value")
	for _, out := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %q %x", s, s, s, s, s), fmt.Sprintf("%+v", Account{APIKey: s}), s.LogValue().String()} {
		if strings.Contains(out, "very") || strings.Contains(out, "76657279") {
			t.Errorf("printed: %s", out)
		}
	}
	for key, want := range map[string]string{"sk-very-secret-value": "...alue", "12345678": "...5678", "1234567": "...7", "abc": "..."} {
		if got := NewSecret(key).Tail(); got != want {
			t.Errorf("the tail of %q is %q", key, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(whole1)
	f.Add("accounts: [{id: a, provider: openai, api_key: ${A:-k}}]")
	f.Add("a: &x {b: *x}")
	f.Add("? {a: b}\n: c")
	f.Fuzz(func(t *testing.T, text string) {
		r := newReader("f", func(string) (string, bool) { return "", false })
		file := defaults()
		if n := r.document([]byte(text)); n != nil {
			r.block(n, "the file", fileFields(&file))
		}
		c := &Config{File: file, catalog: map[string]*provider.Provider{}}
		for _, p := range testProviders() {
			c.catalog[p.ID] = p
		}
		(&checker{reader: r, Config: c}).check()
		for _, fault := range r.faults {
			_ = fault.Error()
		}
	})
}
