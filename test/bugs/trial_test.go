package bugs

import (
	"net/http"
	"testing"
	"time"

	"github.com/waybill/waybill/test/upstream"
)

// TestARequestTestsOneAccountAtMost: two accounts are due. The request whose
// test of the first one fails goes on to one that is admitted (R4), and leaves
// the second one to the next request.
func TestARequestTestsOneAccountAtMost(t *testing.T) {
	w := start(t, func(p *plan) {
		p.names = []string{"a", "b", "c"}
		p.policy.BurstCooldown = time.Microsecond // due when the next request comes
	})
	slow := upstream.JSON(http.StatusTooManyRequests, `{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}`)
	broken := upstream.JSON(http.StatusInternalServerError, `{"error":{"message":"no"}}`)
	w.up.Script("a", slow, broken)
	w.up.Script("b", slow, upstream.Good)
	w.good("c")
	w.do(chat).want(t, http.StatusOK)
	w.wantHits(map[string]int{"a": 1, "b": 1, "c": 1})
	w.do(chat).want(t, http.StatusOK)
	w.wantHits(map[string]int{"a": 2, "b": 1, "c": 2})
	w.do(chat).want(t, http.StatusOK)
	w.wantHits(map[string]int{"a": 2, "b": 2, "c": 2})
}
