package bugs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
	"github.com/waybill/waybill/test/upstream"
)

func Test_B113_no_slot_leaks(t *testing.T) {
	limited := func(p *plan) {
		p.names = []string{"a"}
		p.policy.HealthThreshold = 100
		p.settings = func(_ string, s *events.Settings) { s.MaxConcurrent = 2 }
	}
	ways := map[string]upstream.Answer{
		"500":            upstream.JSON(500, `{"error":{"message":"boom"}}`),
		"200_then_reset": upstream.Stream(upstream.Reset),
		"cut_mid_stream": upstream.Stream(upstream.Raw(upstream.ChatEvents[1]), upstream.Reset),
		"empty":          upstream.Stream(),
		"html":           upstream.Whole(200, "text/html", "<html>"),
	}
	for name, answer := range ways {
		t.Run(name, func(t *testing.T) {
			w := start(t, limited)
			w.up.Script("a", answer)
			for range 5 {
				w.do(chatS)
			}
			w.finished(5)
			w.wantIdle()
			w.good("a")
			w.do(chatS).want(t, 200)
		})
	}
	t.Run("refused", func(t *testing.T) {
		w := start(t, limited, func(p *plan) { p.base = map[string]string{"a": "http://" + closedPort(t)} })
		for range 5 {
			w.do(chatS)
		}
		w.finished(5)
		w.wantIdle()
	})
	t.Run("client_closing_before_headers", func(t *testing.T) {
		w := start(t, limited)
		w.up.Script("a", upstream.Steps(upstream.Hang))
		for i := range 5 {
			ctx, leave := context.WithCancel(t.Context())
			go func() { w.up.WaitHits(t, "a", i+1); leave() }()
			w.request(ctx, chatS)
			w.finished(i + 1)
		}
		w.wantIdle()
		w.good("a")
		w.do(chatS).want(t, 200)
	})
	t.Run("panic", func(t *testing.T) {
		w := start(t, limited, func(p *plan) { p.names = []string{"a", "b"} })
		w.good("a")
		for range 5 {
			w.panicking(chatS)
		}
		w.finished(5)
		w.wantIdle()
		w.do(chatS).want(t, 200)
	})
}

// B115 is the same with readers of the state and reloads between.
func Test_B115_requests_readers_and_reloads_at_once(t *testing.T) {
	w := start(t)
	w.up.Script("a", upstream.Good, upstream.JSON(500, `{"error":{"message":"boom"}}`), upstream.Stream(upstream.Raw(upstream.ChatEvents[1]), upstream.Reset), upstream.Good)
	w.good("b")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			w.engine.View(func(v routing.View, _ events.Position, _ events.Time) { v.Admission.Roster() })
			w.engine.InFlight(1)
			w.reload()
			time.Sleep(time.Millisecond)
		}
	})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for range 25 {
				for _, c := range []call{chat, chatS, msg, gemS} {
					res, err := w.request(t.Context(), c)
					if err != nil {
						t.Errorf("%s: %v", c.path, err)
						return
					}
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}
		})
	}
	clients.Wait()
	close(stop)
	wg.Wait()
	w.finished(800)
	w.wantIdle()
}

func Test_B116_round_robin_turns_per_model(t *testing.T) {
	w := start(t, func(p *plan) {
		p.names = []string{"a", "b", "c"}
		p.models = []events.Route{
			{Name: "m1", Strategy: events.StrategyRoundRobin, Tiers: []events.Tier{{Accounts: []string{"a", "b"}}}},
			{Name: "m2", Strategy: events.StrategyRoundRobin, Tiers: []events.Tier{{Accounts: []string{"a", "b", "c"}}}},
		}
	})
	w.up.Script("*", upstream.Good)
	for i := range 200 {
		model := []string{"m1", "m2"}[i%2]
		if i == 100 {
			w.up.Script("c", upstream.JSON(429, `{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}`))
		}
		w.do(chat.saying(fmt.Sprintf(`{"model":%q,"messages":[]}`, model))).want(t, 200)
	}
	share := map[string]map[string]int{"m1": {}, "m2": {}}
	for _, h := range w.up.Hits("*") {
		for model := range share {
			if strings.Contains(string(h.Body), model) {
				share[model][h.Account]++
			}
		}
	}
	for model, by := range share {
		if a, b := by["a"], by["b"]; a*100 < 45*(a+b) || b*100 < 45*(a+b) {
			t.Errorf("%s: %v, want a and b alike", model, by)
		}
	}
	for i := range 200 {
		w.do(chat.saying(fmt.Sprintf(`{"model":"random-%d","messages":[]}`, i))).want(t, 404)
	}
}
