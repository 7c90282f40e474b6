package bugs

import (
	"io"
	"testing"
	"time"

	"github.com/waybill/waybill/ledger/ledgertest"
)

// TestNothingLeavesBeforeItsDecisionIsDurable: while the ledger holds a commit,
// the upstream is asked all the same and the client gets no byte. relaxed skips
// the wait.
func TestNothingLeavesBeforeItsDecisionIsDurable(t *testing.T) {
	for _, relaxed := range []bool{false, true} {
		for name, c := range map[string]call{"chat": chat, "chat+s": chatS, "msg+s": msgS, "gem": gem} {
			store := ledgertest.NewMemory()
			w := start(t, func(p *plan) { p.store, p.relaxed = store, relaxed })
			w.good("a")
			release := store.Hold()
			type head struct {
				status int
				err    error
			}
			answered := make(chan head, 1)
			go func() {
				res, err := w.request(t.Context(), c)
				if err != nil {
					answered <- head{0, err}
					return
				}
				defer res.Body.Close()
				_, err = io.Copy(io.Discard, res.Body)
				answered <- head{res.StatusCode, err}
			}()
			w.up.WaitHits(t, "a", 1)
			if relaxed {
				if h := <-answered; h.status != 200 || h.err != nil {
					t.Errorf("%s, relaxed: %+v while the ledger is busy", name, h)
				}
				release()
				continue
			}
			select {
			case h := <-answered:
				t.Errorf("%s: answered %+v before the decision was durable", name, h)
				answered <- h
			case <-time.After(50 * time.Millisecond): // long enough for a relay that does not wait
			}
			release()
			if h := <-answered; h.status != 200 || h.err != nil {
				t.Errorf("%s: %+v once it was durable", name, h)
			}
		}
	}
}
