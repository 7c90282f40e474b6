package bugs

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

// renewable is a credential that a refresh replaces once.
type renewable struct {
	asked atomic.Int64
	at    atomic.Int64
}

func (r *renewable) Token() (string, events.Epoch) {
	if r.at.Load() == 0 {
		return "tok1", 1
	}
	return "tok2", 2
}

func (r *renewable) Refresh(_ context.Context, rejected string) bool {
	r.asked.Add(1)
	return rejected == "tok1" && r.at.CompareAndSwap(0, 1)
}

// B157: where the credential can be refreshed; how it is done is a provider's.
func Test_B157_a_401_is_tried_once_with_another_token(t *testing.T) {
	refused := upstream.JSON(401, `{"error":{"message":"token expired"}}`)
	t.Run("the_new_token_serves", func(t *testing.T) {
		cred := &renewable{}
		w := start(t, func(p *plan) { p.names, p.cred = []string{"a"}, cred })
		w.up.Script("tok1", refused)
		w.good("tok2")
		for range 2 {
			w.do(chat).want(t, 200)
		}
		w.wantHits(map[string]int{"tok1": 1, "tok2": 2})
		if string(w.up.Hits("tok2")[0].Body) != chat.body {
			t.Errorf("replayed %q", w.up.Hits("tok2")[0].Body)
		}
		w.finished(2)
		w.wantClasses("a:success", "a:success")
		changed := w.events(events.KindAccountChanged)
		if len(changed) != 1 || changed[0].Epoch != 2 || w.outcomes()[0].Epoch != 2 {
			t.Errorf("%d changes recorded; the outcome is of epoch %v", len(changed), w.outcomes()[0].Epoch)
		}
	})
	t.Run("the_new_token_is_refused_too", func(t *testing.T) {
		cred := &renewable{}
		w := start(t, func(p *plan) { p.names, p.cred = []string{"a"}, cred })
		w.up.Script("*", refused)
		w.do(chat).want(t, 503)
		got := w.do(chat)
		got.want(t, 503)
		w.wantHits(map[string]int{"tok1": 1, "tok2": 1})
		if got.header.Get("Waybill-Refusal") != "accounts_unavailable" || cred.asked.Load() != 1 {
			t.Errorf("%v; asked %d times", got.header, cred.asked.Load())
		}
	})
}

// missing is a credential whose command has given nothing yet.
type missing struct{ asked, there atomic.Int64 }

func (m *missing) Token() (string, events.Epoch) {
	if m.there.Load() == 0 {
		return "", 0
	}
	return "tok2", 2
}

func (m *missing) Refresh(_ context.Context, rejected string) bool {
	m.asked.Add(1)
	return m.there.Load() != 0
}

// B158: without a credential nothing is sent; the account waits as after a 401,
// with the evidence, and a credential that comes brings it back.
func Test_B158_nothing_is_sent_without_a_credential(t *testing.T) {
	cred := &missing{}
	w := start(t, func(p *plan) { p.names, p.cred = []string{"a"}, cred })
	w.good("tok2")
	w.do(chat).want(t, 503)
	w.do(chat).want(t, 503)
	w.wantHits(map[string]int{"": 0, "tok2": 0})
	w.finished(1)
	w.wantClasses("a:auth_failed")
	if f, ok := events.FailureOf(w.outcomes()[0].Data); !ok || f.Rule != "credential:none" || cred.asked.Load() != 1 {
		t.Errorf("recorded %+v; the command was asked %d times", f, cred.asked.Load())
	}
	cred.there.Store(1)
	if err := w.engine.Renew(t.Context(), "a", 2); err != nil {
		t.Fatal(err)
	}
	w.do(chat).want(t, 200)
}
