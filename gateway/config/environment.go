package config

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Environment is what the process is told by variables: where it listens and
// where its ledger is. Everything that may change while it runs stands in the
// file instead.
type Environment struct {
	Config       string     `env:"WAYBILL_CONFIG" doc:"Configuration file; also --config. Without it waybill.yaml is read if it exists."`
	Listen       string     `env:"WAYBILL_LISTEN" envDefault:"127.0.0.1:8787" doc:"Data plane."`
	AdminListen  string     `env:"WAYBILL_ADMIN_LISTEN" envDefault:"127.0.0.1:8788" doc:"Admin API and metrics."`
	AdminToken   Secret     `env:"WAYBILL_ADMIN_TOKEN" doc:"Bearer token of the admin API; starting beyond loopback without one is refused."`
	MetricsToken Secret     `env:"WAYBILL_METRICS_TOKEN" doc:"Bearer token of /metrics, besides the admin token."`
	ClientKey    Secret     `env:"WAYBILL_CLIENT_KEY" doc:"Client key (id default); several are separated by commas."`
	Ledger       string     `env:"WAYBILL_LEDGER" envDefault:"sqlite:var/waybill.db" doc:"The ledger: sqlite:PATH or postgres://user:password@host/database."`
	LedgerOwner  Secret     `env:"WAYBILL_LEDGER_OWNER" doc:"URL of the PostgreSQL role that owns the schema, for migrations. Without it one role does both, and append-only is enforced by triggers only."`
	Bus          string     `env:"WAYBILL_BUS" envDefault:"local" doc:"Wake-ups between replicas: postgres (LISTEN/NOTIFY), nats://host:4222 (several servers of a cluster are separated by commas), or local: they look every 100 ms."`
	Spool        string     `env:"WAYBILL_SPOOL" envDefault:"var/spool.db" doc:"Outage spool: takes what a gateway records while the ledger does not. One for each process, on a disk that outlives it."`
	Durability   string     `env:"WAYBILL_DURABILITY" envDefault:"strict" doc:"relaxed skips the wait before the first byte, never the fsync."`
	LogLevel     slog.Level `env:"WAYBILL_LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error."`
	LogFormat    string     `env:"WAYBILL_LOG_FORMAT" envDefault:"text" doc:"text or json."`
}

// ReadEnvironment reads and checks the variables. warnings are for the log:
// variables that look like ours and are not.
func ReadEnvironment(vars map[string]string) (e Environment, warnings []string, err error) {
	if err := new(slog.Level).UnmarshalText([]byte(vars["WAYBILL_LOG_LEVEL"])); err != nil && vars["WAYBILL_LOG_LEVEL"] != "" {
		return e, nil, Faults{{File: "WAYBILL_LOG_LEVEL", Problem: fmt.Sprintf("%q is not known", vars["WAYBILL_LOG_LEVEL"]), Mend: "use one of debug, info, warn, error"}}
	}
	if err := env.ParseWithOptions(&e, env.Options{Environment: vars}); err != nil {
		return e, nil, Faults{{File: "environment", Problem: err.Error(), Mend: "see docs/config.md"}}
	}
	var faults Faults
	check := func(name, value string, words ...string) {
		if !slices.Contains(words, value) {
			faults = append(faults, Fault{File: name, Problem: fmt.Sprintf("%q is not known", value), Mend: didYouMean(value, words)})
		}
	}
	check("WAYBILL_DURABILITY", e.Durability, "strict", "relaxed")
	check("WAYBILL_LOG_FORMAT", e.LogFormat, "text", "json")
	faults = append(faults, checkBus(e.Bus, e.Ledger)...)
	faults = append(faults, checkListen("WAYBILL_LISTEN", e.Listen)...)
	faults = append(faults, checkListen("WAYBILL_ADMIN_LISTEN", e.AdminListen)...)
	faults = append(faults, checkTokens(vars)...)
	if len(faults) > 0 {
		return e, nil, faults
	}
	return e, strangers(vars), nil
}

// checkTokens refuses secrets that are set and empty, or hold blanks: an empty
// secret must never mean that there is none to be asked for.
func checkTokens(vars map[string]string) Faults {
	var faults Faults
	for _, name := range []string{"WAYBILL_ADMIN_TOKEN", "WAYBILL_METRICS_TOKEN"} {
		if v, set := vars[name]; set {
			if _, err := credentialText(v); err != nil {
				faults = append(faults, Fault{File: name, Problem: err.Error(), Mend: "unset it, or give it a secret without blanks"})
			}
		}
	}
	if v, set := vars["WAYBILL_CLIENT_KEY"]; set {
		if _, err := splitKeys(v); err != nil {
			faults = append(faults, Fault{File: "WAYBILL_CLIENT_KEY", Problem: err.Error(), Mend: "unset it, or give it keys separated by commas"})
		}
	}
	return faults
}

// splitKeys reads the keys of WAYBILL_CLIENT_KEY.
func splitKeys(v string) ([]string, error) {
	keys := strings.Split(v, ",")
	for i, k := range keys {
		keys[i] = strings.TrimSpace(k)
		if _, err := credentialText(keys[i]); err != nil {
			return nil, fmt.Errorf("key %d of %d %w", i+1, len(keys), err)
		}
	}
	return keys, nil
}

// strangers are variables with our prefix that nothing reads.
func strangers(vars map[string]string) []string {
	known := variableNames()
	var out []string
	for name := range vars {
		if !strings.HasPrefix(name, "WAYBILL_") || slices.Contains(known, name) || forTests(name) {
			continue
		}
		hint := ""
		if w := nearest(name, known); w != "" {
			hint = "; did you mean " + w + "?"
		}
		out = append(out, "variable "+name+" is not known"+hint)
	}
	sort.Strings(out)
	return out
}

func forTests(name string) bool {
	return strings.HasPrefix(name, "WAYBILL_TEST_") || name == "WAYBILL_BIN" || name == "WAYBILL_PROVE"
}

// variableNames lists the variables of Environment.
func variableNames() []string {
	t := reflect.TypeFor[Environment]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("env")
	}
	return names
}
