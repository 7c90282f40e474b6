// Package postgres gives tests a real PostgreSQL: the one that
// WAYBILL_TEST_POSTGRES names, else one that it starts itself from local
// binaries, once for a test process. It is for tests only.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Server is a running PostgreSQL.
type Server struct {
	URL string // of a superuser, database postgres

	dir      string
	bin      string
	settings []string
	cmd      *exec.Cmd
	log      *os.File
	end      chan error
}

// shared is a server of this process.
type shared struct {
	once   sync.Once
	server *Server
	err    error
}

var (
	quick   shared // for tests: nothing is flushed, a crash of the machine loses it
	durable shared // for benchmarks
	schemas atomic.Uint64
)

// Main runs a package's tests and stops the server that they may have started:
// func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }.
func Main(m *testing.M) int {
	code := m.Run()
	for _, p := range []*shared{&quick, &durable} {
		if p.server != nil {
			p.server.Stop()
		}
	}
	return code
}

// URL is the server that all tests of this process share, and all benchmarks
// another one.
func URL(t testing.TB) string {
	t.Helper()
	p, settings := &quick, []string{"fsync=off"}
	if _, ok := t.(*testing.B); ok {
		p, settings = &durable, nil
	}
	p.once.Do(func() {
		if given := os.Getenv("WAYBILL_TEST_POSTGRES"); given != "" {
			p.server = &Server{URL: given}
			return
		}
		p.server, p.err = Start(settings...)
	})
	if p.err != nil {
		t.Fatalf("no PostgreSQL to test with: %v", p.err)
	}
	return p.server.URL
}

// Schema is a schema name that no other test has.
func Schema() string {
	return fmt.Sprintf("t%d_%d", os.Getpid(), schemas.Add(1))
}

// Start starts a server of its own, on a unix socket, with its files in a
// temporary directory. Settings are "name=value".
func Start(settings ...string) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "waybill-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, settings: settings, URL: "postgres:///postgres?" + url.Values{"host": {dir}, "user": {"postgres"}}.Encode()}
	if err := s.init(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.Restart(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// binaries finds initdb and postgres, and installs them where it may.
func binaries() (string, error) {
	for try := 0; ; try++ {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
		slices.SortFunc(found, func(a, b string) int { return major(b) - major(a) })
		if len(found) > 0 {
			return filepath.Dir(found[0]), nil
		}
		if p, err := exec.LookPath("postgres"); err == nil {
			return filepath.Dir(p), nil
		}
		if try > 0 || os.Geteuid() != 0 {
			return "", errors.New("install PostgreSQL (Debian: apt-get install postgresql) or set WAYBILL_TEST_POSTGRES")
		}
		install := exec.CommandContext(context.Background(), "apt-get", "install", "-y", "--no-install-recommends", "postgresql")
		install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := install.CombinedOutput(); err != nil {
			return "", fmt.Errorf("apt-get install postgresql: %w\n%s", err, out)
		}
	}
}

func major(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4])
	return n
}

// credential is whom PostgreSQL runs as: it refuses to be root.
func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

func (s *Server) command(name string, args ...string) (*exec.Cmd, error) {
	cred, err := credential()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	return cmd, nil
}

func (s *Server) init() error {
	if cred, err := credential(); err != nil {
		return err
	} else if cred != nil {
		if err := os.Chown(s.dir, int(cred.Uid), int(cred.Gid)); err != nil {
			return err
		}
	}
	cmd, err := s.command("initdb", "-D", filepath.Join(s.dir, "data"), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// Restart starts the server, for the first time or after Stop, Crash or a
// crash of its own.
func (s *Server) Restart() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	args := []string{"-D", filepath.Join(s.dir, "data"), "-k", s.dir}
	for _, set := range append([]string{"listen_addresses=", "max_connections=200", "shared_buffers=256MB", "min_wal_size=512MB", "max_wal_size=2GB"}, s.settings...) {
		args = append(args, "-c", set)
	}
	cmd, err := s.command("postgres", args...)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr.Pdeathsig = syscall.SIGINT // the server never outlives its tests
	s.cmd, s.log, s.end = cmd, log, make(chan error, 1)
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Pdeathsig is about this thread
		err := cmd.Start()
		started <- err
		if err == nil {
			s.end <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	return s.ready()
}

// ready waits until the server takes connections, a minute at most.
func (s *Server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ask := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_isready"), "-q", "-h", s.dir)
		if ask.Run() == nil {
			return nil
		}
		select {
		case err := <-s.end:
			out, _ := os.ReadFile(s.log.Name())
			return fmt.Errorf("postgres ended: %w\n%s", err, out)
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// Crash stops the server as a power cut would: no checkpoint, no farewell.
func (s *Server) Crash() error { return s.signal(syscall.SIGQUIT) }

// Halt stops the server in good order and keeps its files.
func (s *Server) Halt() error { return s.signal(syscall.SIGINT) }

// Freeze stops every process of the server where it stands, as a machine that
// hangs; Thaw lets them go on.
func (s *Server) Freeze() error { return s.all(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (s *Server) Thaw() error { return s.all(syscall.SIGCONT) }

// all signals the server and its children.
func (s *Server) all(sig syscall.Signal) error {
	parent := s.cmd.Process.Pid
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		return err
	}
	pids := []int{parent}
	for _, f := range strings.Fields(string(list)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

func (s *Server) signal(sig syscall.Signal) error {
	if err := s.cmd.Process.Signal(sig); err != nil {
		return err
	}
	var exit *exec.ExitError // it was told to end: how it did says nothing
	if err := <-s.end; err != nil && !errors.As(err, &exit) {
		return err
	}
	return s.log.Close()
}

// Stop stops the server and removes its files. A server that was given stays.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.signal(syscall.SIGINT)
	_ = os.RemoveAll(s.dir)
}
