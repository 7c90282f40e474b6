package bugs

import (
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/catalogue"
	"github.com/waybill/waybill/test/upstream"
)

// B065: a 200 that is no answer. Where the provider's table knows its shape it
// is what the table says, and another account serves.
func Test_B065_an_error_in_its_providers_own_shape_inside_a_200(t *testing.T) {
	w := start(t, func(p *plan) {
		p.names = []string{"a", "b"}
		p.provider = func(_ events.Dialect, own *provider.Provider) { own.Rules = catalogue.Find("minimax").Rules }
	})
	w.up.Script("a", upstream.JSON(200, `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`))
	w.good("b")
	w.do(chat).want(t, 200)
	w.do(chat).want(t, 200)
	w.finished(2)
	w.wantClasses("a:credits_exhausted", "b:success", "b:success")
}
