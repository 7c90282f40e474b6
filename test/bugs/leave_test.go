package bugs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

func Test_B023_a_client_that_leaves_takes_the_upstream_along(t *testing.T) {
	const soon = time.Second
	for name, c := range allOfS {
		t.Run("mid_stream/"+name, func(t *testing.T) {
			w := start(t)
			w.up.Script("a", upstream.Stream(append(upstream.Chunks(deltas(name)), upstream.Hang)...))
			l := w.open(c)
			l.until(strings.TrimSpace(deltas(name)[len(deltas(name))-1]))
			l.leave()
			wantGone(t, w.up.Hits("a")[0].Gone, soon, name)
			w.wantAborted("a")
		})
	}
	for name, c := range map[string]call{"chat+s": chatS, "chat": chat, "msg": msg, "gem+s": gemS} {
		t.Run("before_headers/"+name, func(t *testing.T) {
			w := start(t)
			w.up.Script("a", upstream.Steps(upstream.Hang))
			w.abandon(c, "a")
			wantGone(t, w.up.Hits("a")[0].Gone, soon, name)
			w.wantAborted("a")
		})
		t.Run("before_the_first_token/"+name, func(t *testing.T) {
			w := start(t)
			begun := make(chan struct{})
			w.up.Script("a", upstream.Steps(upstream.Bytes("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"), upstream.Signal(begun), upstream.Hang))
			ctx, leave := context.WithCancel(t.Context())
			go func() { <-begun; leave() }()
			if _, err := w.request(ctx, c); !errors.Is(err, context.Canceled) {
				t.Errorf("err %v", err)
			}
			wantGone(t, w.up.Hits("a")[0].Gone, soon, name)
			w.wantAborted("a")
		})
	}
	t.Run("between_attempts", func(t *testing.T) {
		w := start(t)
		left := make(chan struct{})
		w.up.Script("a", func(x *upstream.Exchange) error {
			<-left
			<-x.Hit.Gone // the gateway has noticed
			return upstream.JSON(503, `{"error":{"message":"busy"}}`)(x)
		})
		w.good("b")
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			w.up.WaitHits(t, "a", 1)
			leave()
			close(left)
		}()
		w.request(ctx, chatS)
		w.wantAborted("a")
		w.wantHits(map[string]int{"b": 0})
	})
}

// abandon leaves as soon as the upstream has the request.
func (w *world) abandon(c call, account string) { w.abandonAfter(c, account, 1) }

// abandonAfter leaves when the upstream has had n requests.
func (w *world) abandonAfter(c call, account string, n int) {
	ctx, leave := context.WithCancel(w.t.Context())
	go func() {
		w.up.WaitHits(w.t, account, n)
		leave()
	}()
	w.request(ctx, c)
}

// wantAborted: recorded as the client's leaving, nobody's failure, nothing in flight.
func (w *world) wantAborted(account string) {
	w.t.Helper()
	done := w.finished(1)
	if done[0].Outcome != "aborted" {
		w.t.Errorf("the request ended as %q, want aborted", done[0].Outcome)
	}
	out := w.outcomes()
	if len(out) != 1 || out[0].Data.Kind() != events.KindAttemptAborted {
		w.t.Errorf("outcomes %v, want one client_aborted of %s", w.classes(), account)
	}
	w.wantIdle()
}

// wantIdle: nothing is in flight.
func (w *world) wantIdle() {
	w.t.Helper()
	for n := uint32(1); n <= 6; n++ {
		if in := w.engine.InFlight(n); in != 0 {
			w.t.Errorf("account %d has %d requests in flight, want 0", n, in)
		}
	}
}
