package bugs

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/test/upstream"
)

// stoppable puts a server in front of the gateway that can cut its requests off.
func (w *world) stoppable() (stop func()) {
	w.t.Helper()
	base, cut := context.WithCancelCause(context.Background())
	s := httptest.NewUnstartedServer(w.gate)
	s.Config.BaseContext = func(net.Listener) context.Context { return base }
	s.Start()
	w.server.Close()
	w.server = s
	w.t.Cleanup(s.Close)
	return func() { cut(gateway.ErrStopping) }
}

// TestAStopIsNobodysFault: a request that a stopping gateway cuts off gets an
// answer, or an error event where it has begun; neither client nor account is
// to blame.
func TestAStopIsNobodysFault(t *testing.T) {
	for name, c := range map[string]call{"chat+s": chatS, "msg+s": msgS, "resp+s": respS, "gem+s": gemS} {
		t.Run("in a stream/"+name, func(t *testing.T) {
			w := start(t)
			stop := w.stoppable()
			content := streams[name][:len(streams[name])-1]
			w.up.Script("a", upstream.Stream(upstream.Raw(whole(content)), upstream.Hang))
			l := w.open(c)
			l.until(content[0])
			stop()
			body, err := l.rest()
			if bad, done := errorFrames(name, frames(body)); err != nil || bad != 1 || done != 0 || !strings.Contains(body, "stopping") {
				t.Errorf("%d error events, %v, in %q", bad, err, body)
			}
			wantStopped(t, w, answer{header: l.res.Header}, 200)
		})
	}
	for name, c := range map[string]call{"chat": chat, "msg+s": msgS} {
		t.Run("before any answer/"+name, func(t *testing.T) {
			w := start(t)
			stop := w.stoppable()
			w.up.Script("a", upstream.Hang)
			w.good("b")
			go func() {
				w.up.WaitHits(t, "a", 1)
				stop()
			}()
			got := w.do(c)
			got.want(t, http.StatusServiceUnavailable)
			if got.header.Get("Waybill-Refusal") != "stopping" || got.header.Get("Retry-After") != "1" {
				t.Errorf("%v", got.header)
			}
			wantStopped(t, w, got, 503)
			w.wantHits(map[string]int{"b": 0})
		})
	}
}

func wantStopped(t *testing.T, w *world, got answer, status uint32) {
	t.Helper()
	w.finished(1)
	if r := w.row(got); r.Outcome != requests.Failed || r.Status != status || r.Class != events.ClassLost {
		t.Errorf("the ledger says %s with %d, %s", r.Outcome, r.Status, r.Class)
	}
	if a := w.tell(got).Attempts; len(a) != 1 || !strings.Contains(a[0].Sentence, "the gateway stopped") {
		t.Errorf("attempts %+v", a)
	}
}
