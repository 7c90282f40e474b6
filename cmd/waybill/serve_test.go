package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
)

// gatewayProcess is `waybill serve` run in this process.
type gatewayProcess struct {
	t           *testing.T
	dir         string
	env         []string
	data, admin string
	greeting    string
	cancel      context.CancelFunc
	ended       chan int
	log         *lockedBuffer
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{}
}

func newLockedBuffer() *lockedBuffer { return &lockedBuffer{changed: make(chan struct{})} }

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.b.Write(p)
}

// await returns when the log holds a text n times.
func (l *lockedBuffer) await(t *testing.T, text string, n int) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		l.mu.Lock()
		found, changed, all := strings.Count(l.b.String(), text) >= n, l.changed, l.b.String()
		l.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("the log never said %q; it says:\n%s", text, all)
		}
	}
}

func environmentIn(dir string, extra ...string) []string {
	return append([]string{"WAYBILL_LISTEN=127.0.0.1:0", "WAYBILL_ADMIN_LISTEN=127.0.0.1:0", "HOME=" + dir,
		"WAYBILL_LEDGER=sqlite:" + filepath.Join(dir, "var", "waybill.db"), "WAYBILL_SPOOL=" + filepath.Join(dir, "var", "spool.db")}, extra...)
}

// startServe runs a command that serves, and returns once it has greeted.
func startServe(t *testing.T, dir string, args []string, extra ...string) *gatewayProcess {
	t.Helper()
	g := &gatewayProcess{t: t, dir: dir, env: environmentIn(dir, extra...), ended: make(chan int, 1), log: newLockedBuffer()}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	out, outw := io.Pipe()
	go func() {
		code := run(ctx, args, g.env, strings.NewReader(""), outw, g.log)
		_ = outw.Close()
		g.ended <- code
	}()
	g.readGreeting(out)
	t.Cleanup(func() { g.stop() })
	return g
}

func (g *gatewayProcess) readGreeting(out *io.PipeReader) {
	g.t.Helper()
	lines := bufio.NewScanner(out)
	for g.admin == "" {
		if !lines.Scan() {
			g.t.Fatalf("it ended with %d before it greeted:\n%s", <-g.ended, g.log.b.String())
		}
		g.greeting += lines.Text() + "\n"
		if f := strings.Fields(lines.Text()); len(f) == 3 && f[0] == "data" {
			g.data = f[2]
		} else if len(f) == 3 && f[0] == "admin" {
			g.admin = f[2]
		}
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		for lines.Scan() {
			g.log.mu.Lock()
			g.greeting += lines.Text() + "\n"
			g.log.mu.Unlock()
		}
	}()
	g.t.Cleanup(func() { <-rest })
}

// stop ends it as SIGTERM does and returns the exit code.
func (g *gatewayProcess) stop() int {
	if g.cancel == nil {
		return -1
	}
	g.cancel()
	g.cancel = nil
	return <-g.ended
}

// shell runs another command in the same installation.
func (g *gatewayProcess) shell(args ...string) (code int, out, errs string) {
	g.t.Helper()
	return shell(g.t, append(g.env[:len(g.env):len(g.env)], "WAYBILL_ADMIN_LISTEN="+strings.TrimPrefix(g.admin, "http://")), args...)
}

// answered is an answer, read.
type answered struct {
	status int
	header http.Header
	body   string
}

func (a answered) id() string { return a.header.Get("Waybill-Request-Id") }

func call(t *testing.T, method, url, body string, headers ...string) answered {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{resp.StatusCode, resp.Header, string(b)}
}

func (g *gatewayProcess) chat(model string, headers ...string) answered {
	g.t.Helper()
	return call(g.t, "POST", g.data+"/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"hello"}]}`, headers...)
}

func TestTheFirstMinute(t *testing.T) {
	g := startServe(t, t.TempDir(), []string{"serve"})
	chat := g.chat("gpt-5")
	message := call(t, "POST", g.data+"/v1/messages", `{"model":"claude","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hello"}]}`, "anthropic-version: 2023-06-01")
	gemini := call(t, "POST", g.data+"/v1beta/models/gemini-pro:generateContent", `{"contents":[{"parts":[{"text":"hello"}]}]}`)
	for name, a := range map[string]answered{"chat completion": chat, "streamed message": message, "Gemini call": gemini} {
		if a.status != 200 || !strings.Contains(a.body, "sandbox") || a.header.Get("X-Sandbox") == "" {
			t.Errorf("%s: %d %v\n%s", name, a.status, a.header, a.body)
		}
		code, out, errs := g.shell("why", a.id())
		if code != 0 || !strings.Contains(out, "agrees") {
			t.Errorf("why of the %s: %d\n%s%s", name, code, out, errs)
		}
	}
	if !strings.Contains(message.body, "event: message_stop") {
		t.Errorf("the stream did not end as one:\n%s", message.body)
	}
	var refused answered
	for range 40 { // the sandbox shows the model its limit a moment after the start
		if refused = g.chat("dry"); refused.header.Get("Waybill-Refusal") != "" {
			break
		}
	}
	if refused.status != 429 || refused.header.Get("Retry-After") == "" || !strings.Contains(refused.body, "have exhausted their quota") {
		t.Fatalf("the dry model: %d %v\n%s", refused.status, refused.header, refused.body)
	}
	if code, out, _ := g.shell("why"); code != 0 || !strings.Contains(out, refused.id()) {
		t.Errorf("why of the last refusal: %d\n%s", code, out)
	}
	for _, args := range [][]string{{"verify"}, {"rebuild", "--check"}, {"accounts"}, {"requests"}, {"events"}, {"doctor"}, {"config", "check"}} {
		if code, out, errs := g.shell(args...); code != 0 {
			t.Errorf("%v: %d\n%s%s", args, code, out, errs)
		}
	}
	if code := g.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"curl", "/v1/messages", ":generateContent", "bin/waybill why", "amber", "SANDBOX"} {
		if !strings.Contains(g.greeting, want) {
			t.Errorf("the greeting does not say %q:\n%s", want, g.greeting)
		}
	}
}

func TestASecondGatewayOnTheSameLedgerIsRefused(t *testing.T) {
	g := startServe(t, t.TempDir(), []string{"sandbox"})
	code, _, errs := shell(t, g.env, "sandbox")
	if code != exitLedger || !strings.Contains(errs, "held by process") {
		t.Fatalf("exit %d: %s", code, errs)
	}
}

func TestBeyondLoopbackWithoutKeysNothingStarts(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"WAYBILL_LISTEN=0.0.0.0:0", "WAYBILL_ADMIN_LISTEN=:0"} {
		code, _, errs := shell(t, environmentIn(dir, v), "sandbox")
		if code != exitUsage || !strings.Contains(errs, "beyond loopback") {
			t.Errorf("%s: exit %d: %s", v, code, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "var")); err == nil {
		t.Error("a ledger was made all the same")
	}
}

func TestOperatorsActThroughTheGatewayAndOnTheLedgerItself(t *testing.T) {
	g := startServe(t, t.TempDir(), []string{"sandbox"})
	if code, out, errs := g.shell("drain", "birch", "--reason", "key rotation"); code != 0 || !strings.Contains(out, "running gateway") {
		t.Fatalf("drain: %d %s%s", code, out, errs)
	}
	if code, _, errs := g.shell("drain", "nobody", "--reason", "x"); code == 0 || errs == "" {
		t.Errorf("an unknown account: %d %s", code, errs)
	}
	for name, args := range map[string][]string{"no reason": {"drain", "birch"}, "no account": {"drain", "--reason", "x"}, "a park without end": {"park", "birch", "--reason", "x"}} {
		if code, _, _ := g.shell(args...); code != exitUsage {
			t.Errorf("%s: exit %d", name, code)
		}
	}
	g.stop()
	_, before, _ := g.shell("events", "--json")
	if code, _, errs := g.shell("drain", "nobody", "--reason", "x"); code == 0 || !strings.Contains(errs, "no such account") {
		t.Errorf("an unknown account without a gateway: %d %s", code, errs)
	}
	if _, after, _ := g.shell("events", "--json"); after != before {
		t.Error("a call that was refused has written to the ledger")
	}
	if code, out, errs := g.shell("undrain", "birch", "--reason", "done"); code != 0 || !strings.Contains(out, "no gateway holds") {
		t.Fatalf("undrain: %d %s%s", code, out, errs)
	}
	code, out, _ := g.shell("events", "--type", "operator.undrained", "--json")
	if code != 0 || !strings.Contains(out, `"done"`) {
		t.Errorf("%s", out)
	}
	if code, out, errs := g.shell("verify"); code != 0 {
		t.Errorf("verify: %s%s", out, errs)
	}
	empty := environmentIn(t.TempDir(), "WAYBILL_ADMIN_LISTEN="+strings.TrimPrefix(g.admin, "http://"))
	if code, _, errs := shell(t, empty, "drain", "birch", "--reason", "x"); code != exitLedger {
		t.Errorf("without a ledger: exit %d: %s", code, errs)
	}
}

func TestKeysNewPrintsAKeyThatTheConfigTakes(t *testing.T) {
	code, out, _ := shell(t, nil, "keys", "new", "--json")
	var k struct{ Key, KeySHA256 string }
	var raw map[string]string
	if err := json.Unmarshal([]byte(out), &raw); code != 0 || err != nil {
		t.Fatalf("%d %s", code, out)
	}
	k.Key, k.KeySHA256 = raw["key"], raw["key_sha256"]
	dir := t.TempDir()
	file := filepath.Join(dir, "w.yaml")
	write(t, file, fmt.Sprintf("accounts: [{id: a, provider: openai-compatible, base_url: 'http://127.0.0.1:1'}]\nclients: [{id: app, key_sha256: %s}]\n", k.KeySHA256))
	g := startServe(t, dir, []string{"serve", "--config", file})
	if a := g.chat("m", "Authorization: Bearer "+k.Key); a.status == 401 {
		t.Errorf("the key is not taken: %s", a.body)
	}
	if a := g.chat("m", "Authorization: Bearer wrong"); a.status != 401 {
		t.Errorf("a wrong key: %d", a.status)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestMetricsHaveTheStableSeries(t *testing.T) {
	g := startServe(t, t.TempDir(), []string{"sandbox"})
	g.chat("gpt-5")
	if code, out, errs := g.shell("why"); code == 3 {
		t.Fatal(out, errs)
	}
	text, window := "", `waybill_window_remaining_ratio{account="amber",window="weekly"} 0`
	for range 1000 { // the console speaks a moment after the start
		if text = call(t, "GET", g.admin+"/metrics", "").body; strings.Contains(text, window) {
			break
		}
	}
	for _, series := range []string{"waybill_requests_total{", "waybill_account_admitted{", "waybill_inflight{", "waybill_ledger_position", "waybill_spool_events",
		"waybill_projection_lag_events", "waybill_request_duration_seconds_count", "waybill_first_byte_seconds_count", "waybill_ledger_append_seconds_count",
		window} {
		if !strings.Contains(text, "\n"+series) {
			t.Errorf("no %s in\n%s", series, text)
		}
	}
}

func TestMetricsBeyondLoopbackNeedAToken(t *testing.T) {
	g := startServe(t, t.TempDir(), []string{"sandbox"}, "WAYBILL_ADMIN_LISTEN=0.0.0.0:0", "WAYBILL_ADMIN_TOKEN=admin-token", "WAYBILL_METRICS_TOKEN=metrics-token")
	url := strings.Replace(g.admin, "[::]", "127.0.0.1", 1) + "/metrics"
	for token, want := range map[string]int{"": 401, "wrong": 401, "admin-token": 200, "metrics-token": 200} {
		if a := call(t, "GET", url, "", "Authorization: Bearer "+token); a.status != want {
			t.Errorf("token %q: %d", token, a.status)
		}
	}
}

// B146: on loopback nobody needs a token, but a page that has rebound its name.
func Test_B146_metrics_are_not_for_a_rebound_name(t *testing.T) {
	g := startServe(t, t.TempDir(), []string{"sandbox"})
	for host, want := range map[string]int{"": 200, "localhost:1": 200, "evil.test": 401, "evil.test:80": 401} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.admin+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("asked as %q: %d, want %d", host, resp.StatusCode, want)
		}
	}
}

// TestAJSONLogNamesEveryAccountAtTheStart: real keys spend real money.
func TestAJSONLogNamesEveryAccountAtTheStart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "waybill.yaml")
	write(t, file, "accounts:\n  - {id: first, provider: openai-compatible, base_url: 'http://127.0.0.1:1', api_key: sk-1234567890}\n  - {id: second, provider: openai-compatible, base_url: 'http://127.0.0.1:2'}\n")
	log, ended := newLockedBuffer(), make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- run(ctx, []string{"serve", "--config", file}, environmentIn(dir, "WAYBILL_LOG_FORMAT=json"), strings.NewReader(""), io.Discard, log)
	}()
	log.await(t, `"account":"first","provider":"openai-compatible","credential":"key `, 1)
	log.await(t, `"account":"second"`, 1)
	cancel()
	if code := <-ended; code != exitFine {
		t.Errorf("exit %d", code)
	}
}

// TestDoctorNamesWhatNobodyAppendedAndWhatWasSetAside in a ledger and its spool.
func TestDoctorNamesWhatNobodyAppendedAndWhatWasSetAside(t *testing.T) {
	dir := t.TempDir()
	file, path := filepath.Join(dir, "waybill.yaml"), filepath.Join(dir, "var", "waybill.db")
	write(t, file, "accounts:\n  - {id: a, provider: openai-compatible, base_url: '"+upstream(t)+"', api_key: ka}\n")
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), ledgertest.NewMaker().Records(5)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := shell(t, environmentIn(dir), "doctor", "--config", file); code != exitFine {
		t.Fatalf("exit %d: %s", code, out)
	}
	c, err := zs.OpenConn(path, zs.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const stray = "INSERT INTO events SELECT -1, recorded_at, observed_at, x'00', writer, writer_seq, account, epoch, model, request, attempt, kind, format, payload, hash FROM events WHERE position = 5"
	if err := sqlitex.ExecuteTransient(c, stray, nil); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "var", "spool.db.broken-1"), "")
	code, out, _ := shell(t, environmentIn(dir), "doctor", "--config", file)
	for _, says := range []string{"nobody appended them", "spool.db.broken-1: set aside"} {
		if code != exitCheckFailed || !strings.Contains(out, says) {
			t.Errorf("exit %d, not said: %s\n%s", code, says, out)
		}
	}
}

// TestDoctorGoesOnBehindABrokenConfiguration: ledger, spool and gateway are
// named by the environment.
func TestDoctorGoesOnBehindABrokenConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "waybill.yaml")
	write(t, file, "accounts: [")
	code, out, _ := shell(t, environmentIn(dir), "doctor", "--config", file)
	if code != exitCheckFailed || !strings.Contains(out, "BAD  configuration") {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, what := range []string{"ledger", "outage spool", "gateway"} {
		if !strings.Contains(out, "ok   "+what) {
			t.Errorf("it does not look at %s: %s", what, out)
		}
	}
}
