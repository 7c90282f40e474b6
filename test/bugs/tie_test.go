package bugs

import (
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

// TestAStoredResponseTiesToItsAccount: what an account has made only that
// account can continue, show or delete (R14).
func TestAStoredResponseTiesToItsAccount(t *testing.T) {
	w := start(t)
	w.up.Script("a", upstream.JSON(503, `{"error":{"message":"busy"}}`), upstream.Good)
	w.up.Script("b", func(x *upstream.Exchange) error {
		if x.Hit.Method != "POST" {
			return upstream.JSON(200, `{"id":"resp_1","object":"response","status":"completed","output":[],"deleted":true}`)(x)
		}
		return upstream.Good(x)
	})
	for _, c := range []call{resp, respS} {
		w.up.Script("a", upstream.JSON(503, `{"error":{"message":"busy"}}`), upstream.Good)
		w.do(c).want(t, 200) // made by b
		before := w.hits("a")
		w.do(resp.saying(`{"model":"m1","input":"go on","previous_response_id":"resp_1"}`)).want(t, 200)
		w.do(call{method: "GET", path: "/v1/responses/resp_1"}).want(t, 200)
		w.do(call{method: "DELETE", path: "/v1/responses/resp_1"}).want(t, 200)
		if n := w.hits("a") - before; n != 0 {
			t.Errorf("%d of the tied requests went to a", n)
		}
	}
	w.up.Script("b", upstream.JSON(429, `{"error":{"type":"usage_limit_reached","resets_in_seconds":3600}}`))
	before := w.hits("a")
	got := w.do(resp.saying(`{"model":"m1","input":"go on","previous_response_id":"resp_1"}`))
	got.want(t, 429)
	if w.hits("a") != before {
		t.Error("a tied request failed over")
	}
}

func TestATurnedAwayRequestHasARow(t *testing.T) {
	w := start(t, withClient)
	got := w.do(chat.saying(`{"model":1}`).with("Authorization", "Bearer ck-test"))
	got.want(t, 400)
	refused := w.events(events.KindRequestRefused)
	if len(refused) != 1 || refused[0].Request.String() != got.header.Get("Waybill-Request-Id") {
		t.Fatalf("%d refusals recorded, want this one", len(refused))
	}
	if p := refused[0].Data.(*events.RequestRefused); p.Code != "invalid_request" || p.Status != 400 || p.Stamp.Client != "app" {
		t.Errorf("recorded as %+v", p)
	}
}

func TestAClientIsHeldToItsOwnLimits(t *testing.T) {
	w := start(t, withClient, func(p *plan) {
		p.clients[0].RPM, p.clients[0].Models = 3, []string{"m*"}
		p.clients[1].MaxConcurrent = 1
	})
	w.good("a")
	app, other := chat.with("Authorization", "Bearer ck-test"), chat.with("Authorization", "Bearer ck-other")
	w.do(app.saying(`{"model":"x1","messages":[]}`)).want(t, 403)
	w.do(app).want(t, 200)
	w.do(app).want(t, 200)
	got := w.do(app)
	got.want(t, 429)
	if got.header.Get("Waybill-Refusal") != "client_rate_limited" || got.header.Get("Retry-After") == "" {
		t.Errorf("%v %s", got.header, got.body)
	}
	w.up.Script("a", upstream.Stream(upstream.Raw(upstream.ChatEvents[1]), upstream.Hang))
	l := w.open(other.saying(chatS.body))
	l.until("hel")
	got = w.do(other)
	got.want(t, 429)
	if got.header.Get("Waybill-Refusal") != "client_saturated" {
		t.Errorf("%v", got.header)
	}
	l.leave()
	w.finished(6)
	w.good("a")
	w.do(other).want(t, 200)
	list := w.do(call{method: "GET", path: "/v1/models"}.with("Authorization", "Bearer ck-other"))
	if !strings.Contains(list.body, `"m1"`) {
		t.Errorf("list %s", list.body)
	}
}
