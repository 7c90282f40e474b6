package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/usage"
)

func TestAPriceTableIsReadToTheMillionth(t *testing.T) {
	got, err := parsePrices("p.yaml", []byte("currency: USD\nprices:\n  - {model: a*, account: x, provider: y, input: 0.5, cached_input: 0.05, cache_write: 1.000001, output: 3}\n  - {model: b, input: 2.50, output: 0}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &usage.Prices{Currency: "USD", Rows: []usage.Price{
		{Model: "a*", Account: "x", Provider: "y", Input: 500_000, CachedInput: 50_000, CacheWrite: 1_000_001, Output: 3_000_000},
		{Model: "b", Input: 2_500_000, CachedInput: 2_500_000, CacheWrite: 2_500_000}}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
}

func TestEveryFaultOfAPriceTableNamesItsPlaceAndTheMend(t *testing.T) {
	for name, r := range map[string]struct{ text, where, problem, mend string }{
		"nothing":                  {"", "1:1", "needs `currency:` and `prices:`", "docs/usage.md"},
		"no currency":              {"prices: [{model: a, input: 1, output: 1}]\n", "1:1", "needs `currency:`", "docs/usage.md"},
		"a currency that is none":  {"currency: usd\n", "1:11", `"usd" is no currency`, "USD"},
		"no rows":                  {"currency: USD\nprices: []\n", "2:9", "empty list", "at least one"},
		"a price with a sign":      {"currency: USD\nprices:\n  - {model: a, input: -1, output: 1}\n", "3:23", `"-1" is no price`, "2.50"},
		"a price with an exponent": {"currency: USD\nprices:\n  - {model: a, input: 1e3, output: 1}\n", "3:23", "is no price", "2.50"},
		"a price too fine":         {"currency: USD\nprices:\n  - {model: a, input: 0.1234567, output: 1}\n", "3:23", "is no price", "six decimal places"},
		"a price in words":         {"currency: USD\nprices:\n  - {model: a, input: cheap, output: 1}\n", "3:23", "is no price", "2.50"},
		"no output":                {"currency: USD\nprices:\n  - {model: a, input: 1}\n", "3:", "needs model, input and output", "costs 0"},
		"no model":                 {"currency: USD\nprices:\n  - {input: 1, output: 1}\n", "3:", "needs model, input and output", "costs 0"},
		"an unknown key":           {"currency: USD\nprices:\n  - {model: a, imput: 1, output: 1}\n", "3:16", `unknown key "imput"`, `did you mean "input"?`},
		"broken YAML":              {"currency: [\n", "1:", "not YAML", "check"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsePrices("p.yaml", []byte(r.text))
			if err == nil || !strings.Contains(err.Error(), "p.yaml:"+r.where) || !strings.Contains(err.Error(), r.problem) || !strings.Contains(err.Error(), r.mend) {
				t.Errorf("want %q, %q and %q in\n%v", r.where, r.problem, r.mend, err)
			}
		})
	}
}

func TestTheSampleOfTheDocumentsIsAPriceTable(t *testing.T) {
	if _, err := ReadPrices("../../docs/prices.yaml"); err != nil {
		t.Fatal(err)
	}
}

// A question reads the name of the table out of a configuration whose keys are
// not at hand.
func TestTheNameOfTheTableNeedsNothingElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "waybill.yaml")
	for text, want := range map[string]string{
		"accounts: [{id: a, api_key: ${NOT_SET}}]\nprices: p.yaml\n": "p.yaml",
		"prices: ${P}\n":        "q.yaml",
		"accounts: [{id: a}]\n": "",
		"":                      "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := PricesOf(file, map[string]string{"P": "q.yaml"}); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if err := os.WriteFile(file, []byte("prices: ${NOT_SET}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := PricesOf(file, nil); err == nil || !strings.Contains(err.Error(), "NOT_SET") {
		t.Errorf("%v", err)
	}
}

func TestAWholeConfigurationIsNoPolicy(t *testing.T) {
	_, err := PolicyChange("w.yaml", []byte("accounts: [{id: a}]\nmodels: [{name: m}]\nclients: [{id: c}]\npolicy: {park_cap: 5m}\n"), nil)
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), "w.yaml:1:1: this is a whole configuration") {
		t.Error(err)
	}
	change, err := PolicyChange("w.yaml", []byte("policy: {park_cap: 5m}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := events.DefaultPolicy()
	if change(&p); p.ParkCap.Minutes() != 5 {
		t.Errorf("%v", p.ParkCap)
	}
}
