package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/gateway"
)

// slowUpstream answers a stream whose second half waits for the test.
type slowUpstream struct {
	url     string
	begun   chan struct{} // the first half is out
	release chan struct{}
}

func newSlowUpstream(t *testing.T) *slowUpstream {
	t.Helper()
	u := &slowUpstream{begun: make(chan struct{}, 8), release: make(chan struct{})}
	frame := func(w http.ResponseWriter, delta, finish string) {
		fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
		_ = http.NewResponseController(w).Flush() // a client that left needs none
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		frame(w, `{"content":"first "}`, "null")
		u.begun <- struct{}{}
		select {
		case <-u.release:
		case <-r.Context().Done():
			return
		}
		frame(w, `{"content":"second"}`, "null")
		frame(w, `{}`, `"stop"`)
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	u.url = s.URL
	t.Cleanup(s.Close)
	return u
}

// stream asks for a stream in the background.
func (g *gatewayProcess) stream() <-chan answered {
	out := make(chan answered, 1)
	go func() {
		out <- call(g.t, "POST", g.data+"/v1/chat/completions", `{"model":"m1","stream":true,"messages":[{"role":"user","content":"hello"}]}`)
	}()
	return out
}

func TestAStreamInFlightEndsBeforeTheGatewayDoes(t *testing.T) {
	u := newSlowUpstream(t)
	i := install(t, "accounts:\n  - {id: a, provider: openai-compatible, base_url: '"+u.url+"', api_key: ka}\n")
	answer := i.stream()
	<-u.begun
	ended := make(chan int, 1)
	stop := i.cancel
	i.cancel = nil
	stop()
	go func() { ended <- <-i.ended }()
	i.log.await(t, "stopping", 1)
	close(u.release)
	if a := <-answer; a.status != 200 || !strings.Contains(a.body, "second") || !strings.Contains(a.body, "[DONE]") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if code := <-ended; code != exitFine {
		t.Errorf("exit %d", code)
	}
	if code, out, errs := i.shell("requests", "--outcome", "served", "--json"); code != 0 || strings.Count(out, `"request"`) != 1 {
		t.Errorf("its end is not in the ledger: %s%s", out, errs)
	}
}

func TestAStreamInFlightEndsOnTheConfigurationThatItBeganWith(t *testing.T) {
	old, next := newSlowUpstream(t), newSlowUpstream(t)
	with := func(id, url string) string {
		return "accounts:\n  - {id: " + id + ", provider: openai-compatible, base_url: '" + url + "', api_key: ka}\n"
	}
	i := install(t, with("old", old.url))
	answer := i.stream()
	<-old.begun
	i.change(with("next", next.url))
	close(next.release)
	if a := <-i.stream(); a.header.Get("Waybill-Account") != "next" {
		t.Errorf("a new request went to %q", a.header.Get("Waybill-Account"))
	}
	close(old.release)
	if a := <-answer; a.status != 200 || a.header.Get("Waybill-Account") != "old" || !strings.Contains(a.body, "[DONE]") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if code, out, errs := i.shell("verify"); code != 0 {
		t.Errorf("%s%s", out, errs)
	}
}

// TestAStreamThatOutlastsTheDrainIsEndedByAnErrorEvent, and the ledger does not
// blame its client.
func TestAStreamThatOutlastsTheDrainIsEndedByAnErrorEvent(t *testing.T) {
	u := newSlowUpstream(t)
	i := install(t, "accounts:\n  - {id: a, provider: openai-compatible, base_url: '"+u.url+"', api_key: ka}\n")
	answer := i.stream()
	<-u.begun
	from := time.Now()
	ended := make(chan int, 1)
	stop := i.cancel
	i.cancel = nil
	stop()
	go func() { ended <- <-i.ended }()
	a := <-answer
	if a.status != 200 || !strings.Contains(a.body, "first") || strings.Count(a.body, `"error"`) != 1 || !strings.Contains(a.body, "stopping") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if code := <-ended; code != exitFine || time.Since(from) > 10*time.Second {
		t.Errorf("exit %d after %s", code, time.Since(from))
	}
	if code, out, errs := i.shell("requests", "--outcome", "failed", "--json"); code != 0 || !strings.Contains(out, `"status": 200`) || !strings.Contains(out, `"class": "lost"`) {
		t.Errorf("the ledger says %s%s", out, errs)
	}
	if code, out, errs := i.shell("why"); code != 0 || !strings.Contains(out, "the gateway stopped before it was over") || strings.Contains(out, "client left") {
		t.Errorf("why says %s%s", out, errs)
	}
}

func TestARequestThatTakesTooLongIsToldToEndAndItsHandlerIsWaitedFor(t *testing.T) {
	l, err := listenOn(t.Context(), "WAYBILL_LISTEN", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun, recorded := make(chan struct{}), false
	l.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		recorded = errors.Is(context.Cause(r.Context()), gateway.ErrStopping)
		w.WriteHeader(http.StatusServiceUnavailable)
	}), make(chan error, 1))
	status := make(chan int, 1)
	go func() {
		resp, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			status <- 0
			return
		}
		_ = resp.Body.Close()
		status <- resp.StatusCode
	}()
	<-begun
	if err := l.drain(time.Millisecond); err != nil {
		t.Error(err)
	}
	if !recorded {
		t.Error("the handler was not waited for, or not told why")
	}
	if got := <-status; got != http.StatusServiceUnavailable {
		t.Errorf("the client got %d", got)
	}
}
