package bugs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/test/upstream"
)

// BenchmarkRelay measures one request's whole cost in this process: a client
// and an upstream that do next to nothing, over real sockets, a ledger on
// disk. The proxy rows are the floor that net/http sets.
func BenchmarkRelay(b *testing.B) {
	kinds := map[string]struct {
		call   call
		answer string
		end    string
	}{
		"json": {chat, canned("application/json", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(answer1K), answer1K)), answer1K[len(answer1K)-20:]},
		"sse":  {chatS, canned("text/event-stream", "Transfer-Encoding: chunked\r\n\r\n"+chunks20()+"0\r\n\r\n"), "0\r\n\r\n"},
	}
	for name, k := range kinds {
		up := terse(b, k.answer)
		b.Run(name+"/proxy", func(b *testing.B) {
			target, _ := url.Parse("http://" + up)
			proxy := &httputil.ReverseProxy{
				Rewrite: func(r *httputil.ProxyRequest) {
					body, _ := io.ReadAll(r.In.Body)
					r.Out.Body = io.NopCloser(bytes.NewReader(body))
					r.SetURL(target)
				},
				Transport: &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true}, FlushInterval: -1,
			}
			srv := httptest.NewServer(proxy)
			defer srv.Close()
			hammer(b, srv.Listener.Addr().String(), k.call, k.end)
		})
		for _, relaxed := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/waybill_relaxed_%t", name, relaxed), func(b *testing.B) {
				w := start(b, func(p *plan) {
					p.names = []string{"a", "b", "c", "d"}
					p.relaxed, p.quiet = relaxed, true
					store, err := sqlite.Open(filepath.Join(b.TempDir(), "bench.db"))
					if err != nil {
						b.Fatal(err)
					}
					p.store = store
					p.base = map[string]string{}
					for _, n := range p.names {
						p.base[n] = "http://" + up
					}
				})
				hammer(b, w.server.Listener.Addr().String(), k.call, k.end)
			})
		}
	}
}

var answer1K = strings.Replace(upstream.ChatBody, "hello", strings.Repeat("hello world ", 66), 1)

func canned(media, rest string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: " + media + "\r\n" + rest
}

// chunks20 is a stream of 20 events of content and its end, a chunk each.
func chunks20() string {
	var b strings.Builder
	evs := []string{upstream.ChatEvents[0]}
	for range 20 {
		evs = append(evs, upstream.ChatEvents[1])
	}
	for _, e := range append(evs, upstream.ChatEvents[3:]...) {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(e), e)
	}
	return b.String()
}

// terse answers every request with the same bytes.
func terse(b *testing.B, answer string) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					length := 0
					for {
						line, err := r.ReadSlice('\n')
						if err != nil {
							return
						}
						if len(line) <= 2 {
							break
						}
						if bytes.HasPrefix(line, []byte("Content-Length: ")) {
							fmt.Sscanf(string(line[16:]), "%d", &length)
						}
					}
					if _, err := r.Discard(length); err != nil {
						return
					}
					if _, err := io.WriteString(c, answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return ln.Addr().String()
}

// hammer sends the call over one connection per worker.
func hammer(b *testing.B, addr string, k call, end string) {
	b.Helper()
	b.ReportAllocs()
	b.SetParallelism(32)
	req := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nUser-Agent: bench\r\nContent-Length: %d\r\n\r\n%s", k.path, len(k.body), k.body)
	b.RunParallel(func(pb *testing.PB) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		buf := make([]byte, 64<<10)
		for pb.Next() {
			if _, err := io.WriteString(c, req); err != nil {
				b.Error(err)
				return
			}
			for n := 0; !bytes.HasSuffix(buf[:n], []byte(end)); {
				m, err := c.Read(buf[n:])
				if err != nil {
					b.Errorf("%v after %q", err, buf[:n])
					return
				}
				n += m
			}
		}
	})
}
