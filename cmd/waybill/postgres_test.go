package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	server "github.com/waybill/waybill/test/postgres"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// databases counts those that this process made.
var databases atomic.Uint64

// database makes an empty database and returns its URL.
func database(t *testing.T) string {
	t.Helper()
	admin := server.URL(t)
	conn, err := pgx.Connect(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	name := fmt.Sprintf("waybill_%d_%d", os.Getpid(), databases.Add(1))
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func TestTwoGatewaysShareOneLedger(t *testing.T) {
	u := upstream(t)
	where := database(t)
	file := t.TempDir() + "/waybill.yaml"
	write(t, file, "accounts:\n  - {id: a, provider: openai-compatible, base_url: '"+u+"', api_key: ka}\n")
	env := []string{"WAYBILL_LEDGER=" + where, "WAYBILL_BUS=postgres"}
	one := startServe(t, t.TempDir(), []string{"serve", "--config", file}, env...)
	two := startServe(t, t.TempDir(), []string{"serve", "--config", file}, env...)
	for _, g := range []*gatewayProcess{one, two, one, two} {
		if a := g.chat("m1"); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if !strings.Contains(one.greeting, "triggers only") {
		t.Errorf("the greeting does not say who enforces append-only:\n%s", one.greeting)
	}
	if code, out, errs := two.shell("drain", "a", "--reason", "maintenance"); code != 0 {
		t.Fatalf("drain: %s%s", out, errs)
	}
	refused := false
	for range 500 { // the other replica learns of it by a notification
		if refused = one.chat("m1").header.Get("Waybill-Refusal") != ""; refused {
			break
		}
	}
	if !refused {
		t.Error("the other gateway does not follow the ledger")
	}
	if code := one.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	two.stop()
	for _, args := range [][]string{{"verify"}, {"rebuild", "--check"}, {"accounts"}, {"doctor"}} {
		if code, out, errs := two.shell(args...); code != 0 {
			t.Errorf("%v: %d\n%s%s", args, code, out, errs)
		}
	}
	if code, out, errs := two.shell("undrain", "a", "--reason", "done"); code != 0 || !strings.Contains(out, "recorded") {
		t.Errorf("undrain: %d %s%s", code, out, errs)
	}
}

func TestAReaderNeverMakesASharedLedgerAndNeverShowsItsPassword(t *testing.T) {
	u, err := url.Parse(database(t))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), "hidden-password")
	code, out, errs := shell(t, environmentIn(t.TempDir(), "WAYBILL_LEDGER="+u.String()), "verify")
	if code != exitLedger || errs == "" || strings.Contains(out+errs, "hidden-password") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

func TestRequireRolesRefusesARoleThatOwnsTheLedger(t *testing.T) {
	where := database(t)
	file := t.TempDir() + "/waybill.yaml"
	write(t, file, "ledger: {require_roles: true}\naccounts:\n  - {id: a, provider: openai-compatible, base_url: 'http://127.0.0.1:1'}\n")
	code, _, errs := shell(t, environmentIn(t.TempDir(), "WAYBILL_LEDGER="+where), "serve", "--config", file)
	if code != exitUsage || !strings.Contains(errs, "WAYBILL_LEDGER_OWNER") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// TestADatabaseThatIsAwayIsToldOnceAndWithWhoStillAnswers: with TLS and without
// it fails alike.
func TestADatabaseThatIsAwayIsToldOnceAndWithWhoStillAnswers(t *testing.T) {
	env := environmentIn(t.TempDir(), "WAYBILL_LEDGER=postgres://u@127.0.0.1:1/none")
	code, _, errs := shell(t, env, "accounts")
	if code != exitLedger || strings.Count(errs, "connection refused") != 1 || !strings.Contains(errs, "no gateway answers at http://127.0.0.1:0") {
		t.Errorf("exit %d: %s", code, errs)
	}
	g := startServe(t, t.TempDir(), []string{"sandbox"})
	_, _, errs = shell(t, append(env, "WAYBILL_ADMIN_LISTEN="+strings.TrimPrefix(g.admin, "http://")), "accounts")
	if !strings.Contains(errs, "the gateway at "+g.admin+" still answers") {
		t.Errorf("%s", errs)
	}
}

func TestARoleThatMayNotMakeTheLedgerNamesTheOwnersSetting(t *testing.T) {
	where := database(t)
	conn, err := pgx.Connect(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	role := fmt.Sprintf("poor_%d_%d", os.Getpid(), databases.Add(1))
	if _, err := conn.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN"); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("user", role)
	u.RawQuery, u.User = q.Encode(), nil
	file := t.TempDir() + "/waybill.yaml"
	write(t, file, "accounts:\n  - {id: a, provider: openai-compatible, base_url: 'http://127.0.0.1:1'}\n")
	code, _, errs := shell(t, environmentIn(t.TempDir(), "WAYBILL_LEDGER="+u.String()), "serve", "--config", file)
	if code != exitLedger || !strings.Contains(errs, "permission denied") || !strings.Contains(errs, "WAYBILL_LEDGER_OWNER names the role") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
