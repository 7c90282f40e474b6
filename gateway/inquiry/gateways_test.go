package inquiry_test

import (
	"testing"

	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/test/played"
)

func TestTheGatewaysOfALedgerAreThoseThatWroteLately(t *testing.T) {
	stores(t, func(t *testing.T, g *played.Gateway) {
		g.Incident()
		head, err := g.Log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := inquiry.Gateways(t.Context(), g.Log, head.Position)
		if err != nil || len(got) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		if it := got[0]; it.Writer != g.Writer() || it.Position != head.Position || it.Decided == 0 || it.View == 0 || it.Lag != 0 || it.AtLeast {
			t.Errorf("%+v", it)
		}
		if got, err = inquiry.Gateways(t.Context(), g.Log, 0); err != nil || len(got) != 0 {
			t.Errorf("an empty ledger has gateways: %+v, %v", got, err)
		}
	})
}
