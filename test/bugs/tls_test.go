package bugs

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

// secure is an upstream behind TLS, with or without HTTP/2.
type secure struct {
	*httptest.Server
	mu     sync.Mutex
	protos map[string]int
	gone   chan struct{}
}

func newSecure(t *testing.T, http2 bool) *secure {
	s := &secure{protos: map[string]int{}, gone: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	s.EnableHTTP2 = http2
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *secure) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.protos[r.Proto]++
	s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if !has(`"stream":true`)(&upstream.Hit{Body: body}) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, upstream.ChatBody)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, e := range upstream.ChatEvents {
		io.WriteString(w, e)
		w.(http.Flusher).Flush()
		if i == 1 && has("forever")(&upstream.Hit{Body: body}) {
			<-r.Context().Done()
			close(s.gone)
			return
		}
	}
}

func TestEndpointsWithTLS(t *testing.T) {
	for _, http2 := range []bool{true, false} {
		t.Run(fmt.Sprintf("http2_%t", http2), func(t *testing.T) {
			s := newSecure(t, http2)
			roots := x509.NewCertPool()
			roots.AddCert(s.Certificate())
			w := start(t, func(p *plan) {
				p.names, p.roots, p.base = []string{"a"}, roots, map[string]string{"a": "https://" + s.Listener.Addr().String()}
			})
			got := w.do(chat)
			got.want(t, 200)
			if got.body != upstream.ChatBody {
				t.Errorf("body %s", got.body)
			}
			if got := w.do(chatS); got.body != whole(upstream.ChatEvents) {
				t.Errorf("stream %s", got.body)
			}
			if want := map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"}[http2]; s.protos[want] != 2 {
				t.Errorf("protocols %v, want %s", s.protos, want)
			}
			l := w.open(chatS.saying(`{"model":"m1","messages":[{"role":"user","content":"forever"}],"stream":true}`))
			l.until("hel")
			l.leave()
			wantGone(t, s.gone, time.Second, "TLS")
			w.finished(3)
			w.wantClasses("a:success", "a:success", "a:client_aborted")
		})
	}
	t.Run("an_authority_that_nobody_knows", func(t *testing.T) {
		s := newSecure(t, true)
		w := start(t, func(p *plan) {
			p.names, p.base = []string{"a"}, map[string]string{"a": "https://" + s.Listener.Addr().String()}
		})
		w.do(chat).want(t, 502)
		w.finished(1)
		f, _ := events.FailureOf(w.outcomes()[0].Data)
		if f.Class != events.ClassNetwork || f.Rule != "network:tls" || f.Scope.Kind != events.ScopeEndpoint {
			t.Errorf("recorded as %s by %s of %s", f.Class, f.Rule, f.Scope)
		}
	})
}
