package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/projections/usage"
)

// priced writes a table in which account c has no price.
func priced(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prices.yaml")
	text := "currency: EUR\nprices:\n  - {model: m1, account: a, input: 2.50, cached_input: 0.25, output: 10}\n  - {model: m1, account: b, input: 1, output: 1}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestUsageInTheShell(t *testing.T) {
	a := incident(t, false)
	for name, args := range map[string][]string{
		"usage":            {"usage"},
		"usage by day":     {"usage", "--by", "day"},
		"usage priced":     {"usage", "--prices", priced(t)},
		"usage as of":      {"usage", "--position", "14"},
		"usage of nothing": {"usage", "--until", "2020-01-01"},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, a.sh(exitFine, args...)) })
	}
	for _, args := range [][]string{{"usage", "--by", "planet"}, {"usage", "--since", "soon"}, {"usage", "--prices", "/nowhere.yaml"}, {"usage", "--at", "14:00", "--position", "3"},
		{"usage", "--since", "14:00", "--until", "13:00"}} {
		if code, out, errs := shell(t, a.env, args...); code != exitUsage || errs == "" || out != "" {
			t.Errorf("%v: exit %d, %q", args, code, errs)
		}
	}
	none := filepath.Join(t.TempDir(), "none.db")
	if code, _, errs := shell(t, nil, "usage", "--ledger", none); code != exitLedger || !strings.Contains(errs, none) {
		t.Errorf("no ledger: exit %d, %q", code, errs)
	}
}

// The shell and the API give the same rows, byte for byte.
func TestUsageIsTheSameInTheShellAndTheAPI(t *testing.T) {
	a := incident(t, true)
	file := priced(t)
	table, err := config.ReadPrices(file)
	if err != nil {
		t.Fatal(err)
	}
	h := admin.New(admin.Options{Engine: a.gw.Engine, Log: a.gw.Log, Prices: func() *usage.Prices { return table }})
	srv := httptest.NewServer(h)
	defer srv.Close()
	for _, q := range []string{"by=account", "by=model", "by=client", "by=day", "by=account&since=2026-11-30T14:03:00Z", "by=model&until=2026-11-30T14:03:00Z", "by=client&position=14"} {
		args := []string{"usage", "--prices", file, "--json"}
		for _, pair := range strings.Split(q, "&") {
			args = append(args, "--"+pair)
		}
		shown := a.sh(exitFine, args...)
		got := call(t, "GET", srv.URL+"/api/v1/usage?"+q, "")
		var api struct{ Data json.RawMessage }
		if err := json.Unmarshal([]byte(got.body), &api); err != nil || got.status != 200 {
			t.Fatalf("%s: %d %s", q, got.status, got.body)
		}
		var sh bytes.Buffer
		if err := json.Compact(&sh, []byte(shown)); err != nil || sh.String() != string(api.Data) {
			t.Errorf("%s:\nshell %s\nAPI   %s", q, sh.String(), api.Data)
		}
	}
}

func TestTheConfigurationNamesThePrices(t *testing.T) {
	a := incident(t, false)
	file := filepath.Join(t.TempDir(), "waybill.yaml")
	if err := os.WriteFile(file, []byte("prices: "+priced(t)+"\naccounts: [{id: a, provider: openai, api_key: '${NOT_SET_HERE}'}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := a.sh(exitFine, "usage", "--config", file); !strings.Contains(out, "COST (EUR)") {
		t.Errorf("%s", out)
	}
	if err := os.WriteFile(file, []byte("prices: nowhere.yaml\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := shell(t, a.env, "usage", "--config", file); code != exitUsage || !strings.Contains(errs, "nowhere.yaml") {
		t.Errorf("exit %d %s", code, errs)
	}
}
