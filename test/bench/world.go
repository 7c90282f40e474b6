package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is one child that is measured.
type process struct {
	cmd  *exec.Cmd
	addr string
}

// world is every process of the bench.
type world struct {
	dir      string
	upstream *process
	proxy    *process
	strict   *process
	relaxed  *process
}

// start builds Waybill and starts all processes.
func start() (w *world, err error) {
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "waybill-bench-")
	if err != nil {
		return nil, err
	}
	w = &world{dir: dir}
	defer func() {
		if err != nil {
			w.stop()
		}
	}()
	bin := filepath.Join(dir, "waybill")
	build := exec.Command("go", "build", "-o", bin, "./cmd/waybill")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return w, fmt.Errorf("build waybill: %w", err)
	}
	if w.upstream, err = child("upstream"); err != nil {
		return w, err
	}
	if w.proxy, err = child("proxy", "http://"+w.upstream.addr); err != nil {
		return w, err
	}
	if w.strict, err = w.waybill(bin, "strict"); err != nil {
		return w, err
	}
	w.relaxed, err = w.waybill(bin, "relaxed")
	return w, err
}

func (w *world) stop() {
	for _, p := range []*process{w.strict, w.relaxed, w.proxy, w.upstream} {
		if p != nil {
			p.stop()
		}
	}
	os.RemoveAll(w.dir)
}

func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(12 * time.Second):
		p.cmd.Process.Kill()
		<-done
	}
}

// child starts one of our own roles and reads its address.
func child(args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	return &process{cmd: cmd, addr: strings.TrimSpace(line)}, nil
}

const benchConfig = `accounts:
  - {id: a, provider: openai-compatible, api_key: sk-bench-a, base_url: %[1]s/v1}
  - {id: b, provider: openai-compatible, api_key: sk-bench-b, base_url: %[1]s/v1}
  - {id: c, provider: openai-compatible, api_key: sk-bench-c, base_url: %[1]s/v1}
  - {id: d, provider: openai-compatible, api_key: sk-bench-d, base_url: %[1]s/v1}
`

// waybill starts the built binary with four accounts on the upstream.
func (w *world) waybill(bin, durability string) (*process, error) {
	dir := filepath.Join(w.dir, durability)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "waybill.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, benchConfig, "http://"+w.upstream.addr), 0o600); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		p, err := serve(bin, dir, config, durability)
		if err == nil || try == 3 || !strings.Contains(err.Error(), "address already in use") { // a connection took the port meanwhile
			return p, err
		}
	}
}

// serve starts a gateway whose files are in a directory.
func serve(bin, dir, config, durability string) (*process, error) {
	addr, admin, err := freeAddrs()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, "serve", "--config", config)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "WAYBILL_LISTEN="+addr, "WAYBILL_ADMIN_LISTEN="+admin, "WAYBILL_DURABILITY="+durability,
		"WAYBILL_LEDGER=sqlite:"+filepath.Join(dir, "waybill.db"), "WAYBILL_LOG_LEVEL=warn")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, addr: addr}
	if err := ready("http://" + admin + "/readyz"); err != nil {
		text, _ := os.ReadFile(log.Name())
		p.stop()
		return nil, fmt.Errorf("start waybill (%s): %w\n%s", durability, err, text)
	}
	return p, nil
}

// freeAddrs are two addresses that nobody listens at.
func freeAddrs() (one, other string, err error) {
	a, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer a.Close()
	b, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer b.Close()
	return a.Addr().String(), b.Addr().String(), nil
}

func ready(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == 200 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.New("not ready after 20 s")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
