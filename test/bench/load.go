package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// kind is what is asked for.
type kind struct {
	name string
	body string
}

var (
	jsonKind = kind{"json", `{"model":"bench","messages":[{"role":"user","content":"How much is the freight to Rotterdam, and when does it leave?"}]}`}
	sseKind  = kind{"sse", `{"model":"bench","stream":true,"messages":[{"role":"user","content":"How much is the freight to Rotterdam, and when does it leave?"}]}`}
	slowKind = kind{"slow", `{"model":"slow","messages":[{"role":"user","content":"How much is the freight to Rotterdam, and when does it leave?"}]}`}
)

// sample is one cell of one round.
type sample struct {
	Requests   int     `json:"requests"`
	PerSecond  float64 `json:"per_second"`
	P50        float64 `json:"p50_us"`
	P99        float64 `json:"p99_us"`
	CPU1000    float64 `json:"cpu_ms_per_1000"`
	RSS        float64 `json:"rss_mb"`
	durations  []time.Duration
	failed     int
	firstError error
}

// load drives one address with conns connections for d. The client is a bare
// socket, so that it costs as little as can be on the shared cores.
func load(p *process, k kind, conns int, d time.Duration) (sample, error) {
	request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		p.addr, len(k.body), k.body)
	before, err := cpu(p.cmd.Process.Pid)
	if err != nil {
		return sample{}, err
	}
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		all sample
	)
	begin := time.Now()
	until := begin.Add(d)
	for range conns {
		wg.Go(func() {
			times, failed, err := drive(p.addr, request, k.name == "sse", until)
			mu.Lock()
			defer mu.Unlock()
			all.durations = append(all.durations, times...)
			all.failed += failed
			if all.firstError == nil {
				all.firstError = err
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	after, err := cpu(p.cmd.Process.Pid)
	if err != nil {
		return sample{}, err
	}
	if all.failed > 0 || len(all.durations) == 0 {
		return sample{}, fmt.Errorf("%d of %d requests failed, first: %w", all.failed, all.failed+len(all.durations), all.firstError)
	}
	slices.Sort(all.durations)
	n := len(all.durations)
	all.Requests = n
	all.PerSecond = float64(n) / took.Seconds()
	all.P50 = us(all.durations[n/2])
	all.P99 = us(all.durations[n*99/100])
	all.CPU1000 = (after - before).Seconds() * 1e6 / float64(n)
	all.RSS, err = rss(p.cmd.Process.Pid)
	all.durations = nil
	return all, err
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// drive sends the request again and again on one connection.
func drive(addr string, request []byte, sse bool, until time.Time) (times []time.Duration, failed int, first error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, 1, err
	}
	defer func() { c.Close() }()
	r := bufio.NewReaderSize(c, 16<<10)
	buf := make([]byte, 0, 16<<10)
	for time.Now().Before(until) {
		begin := time.Now()
		_, err := c.Write(request)
		if err == nil {
			buf, err = answer(r, buf[:0])
		}
		if err == nil && (sse && !bytes.HasSuffix(buf, []byte("data: [DONE]\n\n")) || !sse && !bytes.HasSuffix(buf, []byte("}}"))) {
			err = fmt.Errorf("cut answer of %d bytes: %.200q", len(buf), buf)
		}
		if err == nil {
			times = append(times, time.Since(begin))
			continue
		}
		if failed++; first == nil {
			first = err
		}
		c.Close()
		if c, err = net.Dial("tcp", addr); err != nil {
			return times, failed, err
		}
		r.Reset(c)
	}
	return times, failed, first
}

var errStatus = errors.New("not a 200")

// answer reads one HTTP/1.1 answer and returns its body.
func answer(r *bufio.Reader, body []byte) ([]byte, error) {
	status, err := r.ReadSlice('\n')
	if err != nil {
		return body, err
	}
	ok := bytes.Contains(status, []byte(" 200 "))
	length, chunked := -1, false
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return body, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if v, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			length, _ = strconv.Atoi(string(v))
		}
		chunked = chunked || bytes.Equal(line, []byte("Transfer-Encoding: chunked"))
	}
	switch {
	case chunked:
		body, err = chunks(r, body)
	case length >= 0:
		body, err = take(r, body, length)
	default:
		err = errors.New("answer without a length")
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w: %.200s", errStatus, body)
	}
	return body, err
}

func chunks(r *bufio.Reader, body []byte) ([]byte, error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return body, err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return body, err
		}
		if body, err = take(r, body, int(n)); err != nil {
			return body, err
		}
		if _, err := r.Discard(2); err != nil {
			return body, err
		}
		if n == 0 {
			return body, nil
		}
	}
}

func take(r *bufio.Reader, body []byte, n int) ([]byte, error) {
	at := len(body)
	body = slices.Grow(body, n)[:at+n]
	_, err := io.ReadFull(r, body[at:])
	return body, err
}
