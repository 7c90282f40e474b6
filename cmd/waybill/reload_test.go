package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// upstream is one server that answers every account's chat with its key.
func upstream(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); {
		case strings.HasPrefix(key, "bad"):
			w.WriteHeader(401)
			fmt.Fprint(w, `{"error":{"code":"invalid_api_key","message":"no"}}`)
		default:
			fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, key)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// installation is a gateway with a file that a test changes.
type installation struct {
	*gatewayProcess
	file    string
	changes int
}

func install(t *testing.T, text string) *installation {
	t.Helper()
	dir := t.TempDir()
	i := &installation{file: filepath.Join(dir, "waybill.yaml")}
	write(t, i.file, text)
	i.gatewayProcess = startServe(t, dir, []string{"serve", "--config", i.file})
	return i
}

// change replaces the file, as an editor does, and waits until it is read.
func (i *installation) change(text string) {
	i.t.Helper()
	next := i.file + ".next"
	write(i.t, next, text)
	if err := os.Rename(next, i.file); err != nil {
		i.t.Fatal(err)
	}
	i.changes++
	i.log.await(i.t, `msg="configuration changed"`, i.changes)
}

func Test_B124_every_key_of_the_file_is_live_after_a_reload(t *testing.T) {
	u := upstream(t)
	base := "accounts:\n  - {id: a, provider: openai-compatible, base_url: '" + u + "', api_key: ka}\n"
	i := install(t, base)
	i.change(base + "expose_account: true\n")
	i.change(base + "policy: {park_cap: 7s}\n")
	i.change(base + "clients: [{id: app, key: ck}]\n")
	if a := i.chat("m1"); a.status != 401 {
		t.Errorf("a client without key after clients were added: %d", a.status)
	}
	i.change(strings.Replace(base, "ka", "kb", 1))
	if a := i.chat("m1"); a.status != 200 || !strings.Contains(a.body, `"kb"`) {
		t.Errorf("the new credential is not sent: %d %s", a.status, a.body)
	}
}

func TestABrokenFileNeverReplacesARunningConfiguration(t *testing.T) {
	u := upstream(t)
	base := "accounts:\n  - {id: a, provider: openai-compatible, base_url: '" + u + "', api_key: ka}\n"
	i := install(t, base)
	write(t, i.file, base+"polcy: {}\n")
	i.log.await(t, `waybill.yaml:3:1: unknown key \"polcy\" in the file; did you mean \"policy\"?`, 1)
	if a := i.chat("m1"); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestPricesAreReadAgainWithTheConfiguration(t *testing.T) {
	base := "accounts:\n  - {id: a, provider: openai-compatible, base_url: '" + upstream(t) + "', api_key: ka}\n"
	i := install(t, base)
	if a := i.chat("m1"); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	file := filepath.Join(filepath.Dir(i.file), "prices.yaml")
	for _, currency := range []string{"USD", "EUR"} {
		write(t, file, "currency: "+currency+"\nprices: [{model: '*', input: 1, output: 1}]\n")
		if currency == "USD" {
			i.change(base + "prices: " + file + "\n")
		} else if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		} else {
			i.log.await(t, `msg="configuration changed"`, i.changes+1)
		}
		if got := call(t, "GET", i.admin+"/api/v1/usage", ""); !strings.Contains(got.body, `"currency":"`+currency+`"`) {
			t.Errorf("%s: %s", currency, got.body)
		}
	}
	write(t, file, "currency: EUR\nprices: [{model: '*', input: free, output: 1}]\n")
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	i.log.await(t, `prices.yaml:2:30: input: \"free\" is no price`, 1)
}

func TestSIGHUPReloads(t *testing.T) {
	u := upstream(t)
	base := "accounts:\n  - {id: a, provider: openai-compatible, base_url: '" + u + "', api_key: ka}\n"
	i := install(t, base)
	write(t, i.file, base+"expose_account: false\npolicy: {pin_ttl: 2h}\n")
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	i.log.await(t, `msg="configuration changed"`, 1)
}

func Test_B127_a_revoked_key_is_refused_at_once_and_a_new_one_taken(t *testing.T) {
	u := upstream(t)
	base := "accounts:\n  - {id: a, provider: openai-compatible, base_url: '" + u + "', api_key: ka}\n"
	i := install(t, base+"clients: [{id: c1, key: k1}]\n")
	use := func(key string) int { return i.chat("m1", "Authorization: Bearer "+key).status }
	if use("k1") != 200 || use("k2") != 401 {
		t.Fatal("before the change")
	}
	i.change(base + "clients: [{id: c2, key: k2}]\n")
	if one, two := use("k1"), use("k2"); one != 401 || two != 200 {
		t.Errorf("revoked key %d, new key %d", one, two)
	}
}

func Test_B128_a_new_credential_under_an_old_id_starts_without_the_old_ones_failures(t *testing.T) {
	u := upstream(t)
	with := func(key string) string {
		return "accounts:\n  - {id: a, provider: openai-compatible, base_url: '" + u + "', api_key: " + key + "}\n"
	}
	i := install(t, with("bad-1"))
	if a := i.chat("m1"); a.status != 503 {
		t.Fatalf("a refused credential: %d %s", a.status, a.body)
	}
	if a := i.chat("m1"); a.header.Get("Waybill-Refusal") == "" {
		t.Fatalf("the account was not set aside: %d %s", a.status, a.body)
	}
	i.change(with("good-1"))
	if a := i.chat("m1"); a.status != 200 {
		t.Errorf("the new credential: %d %s", a.status, a.body)
	}
}

func Test_B125_a_new_strategy_holds_from_the_next_request_on(t *testing.T) {
	u := upstream(t)
	text := func(strategy string) string {
		return "accounts:\n  - {id: a, provider: openai-compatible, base_url: '" + u + "', api_key: ka}\n" +
			"  - {id: b, provider: openai-compatible, base_url: '" + u + "', api_key: kb}\n" +
			"models:\n  - {name: m1, strategy: " + strategy + ", targets: [{accounts: [a, b]}]}\n"
	}
	i := install(t, text("ordered"))
	count := func() map[string]int {
		served := map[string]int{}
		for range 4 {
			served[i.chat("m1").header.Get("Waybill-Account")]++
		}
		return served
	}
	if got := count(); got["a"] != 4 {
		t.Errorf("ordered: %v", got)
	}
	i.change(text("round_robin"))
	if got := count(); got["a"] != 2 || got["b"] != 2 {
		t.Errorf("round_robin: %v", got)
	}
	if code, out, _ := i.shell("events", "--type", "policy.adopted", "--json"); code != 0 || strings.Count(out, "policy.adopted") != 2 {
		t.Errorf("the ledger does not show the change: %s", out)
	}
}

func TestACredentialFileIsReadAgainOnceItsCredentialIsRefused(t *testing.T) {
	u := upstream(t)
	key := filepath.Join(t.TempDir(), "key")
	write(t, key, "bad-1\n")
	i := install(t, "accounts:\n  - {id: a, provider: openai-compatible, base_url: '"+u+"', api_key_file: '"+key+"'}\n")
	write(t, key, "good-1\n")
	if a := i.chat("m1"); a.status != 200 || !strings.Contains(a.body, "good-1") {
		t.Errorf("%d %s", a.status, a.body)
	}
	for range 500 { // it is recorded beside the request
		if _, out, _ := i.shell("events", "--type", "account.changed", "--json"); strings.Contains(out, `"credential"`) {
			return
		}
	}
	t.Error("the new epoch is not recorded")
}

func TestACredentialCommandGivesTheToken(t *testing.T) {
	u := upstream(t)
	i := install(t, "accounts:\n  - {id: a, provider: openai-compatible, base_url: '"+u+"', credential_command: [printf, printed-token]}\n")
	if a := i.chat("m1"); a.status != 200 || !strings.Contains(a.body, "printed-token") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if strings.Contains(i.log.b.String(), "printed-token") {
		t.Error("the token is in the log")
	}
}
