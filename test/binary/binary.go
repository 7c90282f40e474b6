// Package binary runs the built waybill for tests: the process that users get,
// with a configuration, a ledger and ports of its own.
package binary

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Path is the binary under test: WAYBILL_BIN, or one built with the race
// detector when a test is run by hand.
var Path = sync.OnceValues(func() (string, error) {
	if p := os.Getenv("WAYBILL_BIN"); p != "" {
		return p, nil
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/waybill/waybill").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	out := filepath.Join(os.TempDir(), fmt.Sprintf("waybill-test-%d", os.Getuid()))
	build := exec.Command("go", "build", "-race", "-o", out, "./cmd/waybill")
	build.Dir = strings.TrimSpace(string(dir))
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build waybill: %w\n%s", err, text)
	}
	return out, nil
})

// Gateway is one installation: a directory with configuration and ledger, and
// the process that serves it, which may be killed and started again.
type Gateway struct {
	Dir   string
	URL   string // data plane, without a trailing slash
	Admin string

	t    testing.TB
	bin  string
	args []string
	env  []string
	cmd  *exec.Cmd
	log  *os.File
	gone chan struct{}
	err  error
}

// New prepares an installation with a configuration ("" for none) and does not
// start it. It stops with the test and shows its log when the test failed.
func New(t testing.TB, config string, env ...string) *Gateway {
	t.Helper()
	bin, err := Path()
	if err != nil {
		t.Fatal(err)
	}
	g := &Gateway{Dir: t.TempDir(), t: t, bin: bin, args: []string{"serve"}}
	g.URL, g.Admin = "http://"+freeAddr(t), "http://"+freeAddr(t)
	if config != "" {
		g.Configure(config)
	}
	g.env = append(cleanEnv(),
		"GORACE=atexit_sleep_ms=20", // a second by default, at the end of each command
		"WAYBILL_LISTEN="+strings.TrimPrefix(g.URL, "http://"),
		"WAYBILL_ADMIN_LISTEN="+strings.TrimPrefix(g.Admin, "http://"),
		"WAYBILL_LEDGER=sqlite:"+g.Ledger(),
		"WAYBILL_SPOOL="+filepath.Join(g.Dir, "spool.db"))
	g.env = append(g.env, env...)
	t.Cleanup(func() {
		g.Kill()
		if t.Failed() {
			t.Logf("log of the gateway:\n%s", tail(g.Log(), 8<<10))
		}
	})
	return g
}

// Start is New and Up.
func Start(t testing.TB, config string, env ...string) *Gateway {
	t.Helper()
	g := New(t, config, env...)
	g.Up()
	return g
}

// Sandbox starts the sandbox.
func Sandbox(t testing.TB, env ...string) *Gateway {
	t.Helper()
	g := New(t, "", env...)
	g.args = []string{"sandbox"}
	g.Up()
	return g
}

// Ledger is the path of the SQLite file.
func (g *Gateway) Ledger() string { return filepath.Join(g.Dir, "waybill.db") }

// Configure writes the configuration file.
func (g *Gateway) Configure(config string) {
	g.t.Helper()
	path := filepath.Join(g.Dir, "waybill.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// Up starts the process and waits until it is ready.
func (g *Gateway) Up() {
	g.t.Helper()
	g.Launch()
	g.waitReady()
}

// Launch starts the process and waits for nothing.
func (g *Gateway) Launch() {
	g.t.Helper()
	log, err := os.OpenFile(filepath.Join(g.Dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		g.t.Fatal(err)
	}
	g.log = log
	g.cmd = exec.Command(g.bin, g.args...)
	g.cmd.Dir, g.cmd.Env = g.Dir, g.env
	g.cmd.Stdout, g.cmd.Stderr = log, log
	if err := g.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	gone := make(chan struct{})
	g.gone = gone
	cmd := g.cmd
	go func() {
		g.err = cmd.Wait()
		log.Close()
		close(gone)
	}()
}

func (g *Gateway) waitReady() {
	g.t.Helper()
	ready := Within(Patience, func() bool {
		select {
		case <-g.gone:
			g.t.Fatalf("the gateway ended at start: %v\n%s", g.err, tail(g.Log(), 8<<10))
		default:
		}
		status, _ := g.Ready()
		return status == http.StatusOK
	})
	if !ready {
		g.t.Fatalf("the gateway is not ready after %s\n%s", Patience, tail(g.Log(), 8<<10))
	}
}

// Pid of the running process.
func (g *Gateway) Pid() int { return g.cmd.Process.Pid }

// Kill ends the process with SIGKILL, if it runs.
func (g *Gateway) Kill() {
	if g.cmd == nil {
		return
	}
	g.cmd.Process.Kill()
	<-g.gone
	g.cmd = nil
}

// Stop ends the process with SIGTERM and returns its exit code.
func (g *Gateway) Stop() int {
	g.t.Helper()
	g.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-g.gone:
	case <-time.After(time.Minute):
		g.t.Fatal("the gateway did not stop within a minute of SIGTERM")
	}
	g.cmd = nil
	return exitCode(g.err)
}

// Signal sends a signal to the process.
func (g *Gateway) Signal(s os.Signal) {
	g.t.Helper()
	if err := g.cmd.Process.Signal(s); err != nil {
		g.t.Fatal(err)
	}
}

// Log is what the process printed so far.
func (g *Gateway) Log() string {
	b, _ := os.ReadFile(filepath.Join(g.Dir, "log"))
	return string(b)
}

// Command is another command of the binary in the same installation, not
// started yet.
func (g *Gateway) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(g.bin, args...)
	cmd.Dir, cmd.Env = g.Dir, g.env
	return cmd
}

// Run runs another command of the binary in the same installation.
func (g *Gateway) Run(args ...string) (stdout, stderr string, code int) {
	cmd := g.Command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	return out.String(), errs.String(), exitCode(err)
}

// MustRun is Run that fails the test on another exit code than 0.
func (g *Gateway) MustRun(args ...string) string {
	g.t.Helper()
	out, errs, code := g.Run(args...)
	if code != 0 {
		g.t.Fatalf("waybill %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

func freeAddr(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// cleanEnv leaves provider keys and WAYBILL_ settings of the caller out.
func cleanEnv() []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "WAYBILL_") && !strings.Contains(name, "_API_KEY") {
			out = append(out, kv)
		}
	}
	return out
}

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}
