package load

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waybill/waybill/test/upstream"
)

// Faults answers like a provider on a bad day: mostly well, else with one of
// everything that goes wrong. What a hit gets follows from the seed and the
// number of the hit.
func Faults(seed uint64, rate float64) upstream.Answer {
	var hits atomic.Uint64
	return func(x *upstream.Exchange) error {
		h := fnv.New64a()
		fmt.Fprint(h, x.Hit.Account)
		r := rand.New(rand.NewPCG(seed^h.Sum64(), hits.Add(1)))
		if r.Float64() >= rate {
			return upstream.Good(x)
		}
		return faults[r.IntN(len(faults))](x)
	}
}

var faults = []upstream.Answer{
	upstream.JSON(429, `{"error":{"message":"Rate limit reached on requests per min. Please try again in 1s.","type":"requests","code":"rate_limit_exceeded"}}`, "Retry-After: 1"),
	upstream.JSON(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`),
	upstream.JSON(429, `{"error":{"type":"usage_limit_reached","message":"limit","resets_in_seconds":3600}}`),
	upstream.JSON(402, `{"error":{"message":"Insufficient Balance","code":"invalid_request_error"}}`, "X-Should-Retry: false"),
	upstream.JSON(401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`),
	upstream.JSON(403, ``),
	upstream.JSON(404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`),
	upstream.JSON(500, `{"error":{"message":"boom","type":"server_error"}}`),
	upstream.JSON(503, `{"error":{"message":"overloaded","type":"service_unavailable_error","code":"server_is_overloaded"}}`, "Retry-After: 2"),
	upstream.JSON(200, ``),
	upstream.Whole(200, "text/html", "<html>hello</html>"),
	upstream.JSON(200, `{"choices":[]}`),
	upstream.JSON(200, `{"error":{"message":"inside a 200","code":429}}`),
	func(x *upstream.Exchange) error { return x.Reset() },
	upstream.Stream(upstream.Raw(upstream.ChatEvents[0]), upstream.Reset),
	upstream.Stream(upstream.Raw(upstream.ChatEvents[1]), upstream.Raw(`data: {"choi`), upstream.Reset),
	upstream.Stream(upstream.Raw(upstream.Event(`{"error":{"code":429,"message":"x"}}`))),
	upstream.Stream(append(upstream.Chunks(upstream.ChatEvents[:3]), upstream.Cut)...),
	upstream.Stream(append([]upstream.Step{upstream.Wait(20 * time.Millisecond)}, upstream.Chunks(upstream.ChatEvents)...)...),
}

// Pool is a configuration of n accounts on one upstream, in two groups of
// models, with a policy whose waits are short enough for a test.
func Pool(up string, n int) string {
	var b strings.Builder
	b.WriteString("accounts:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {id: acct-%02d, provider: openai-compatible, api_key: key-%02d, base_url: \"%s/v1\", weight: %d", i, i, up, 1+i%3)
		if i%4 == 3 {
			fmt.Fprintf(&b, ", quota_group: team-%d", i/8)
		}
		if i%5 == 4 {
			b.WriteString(", max_concurrent: 4")
		}
		b.WriteString("}\n")
	}
	b.WriteString("models:\n")
	for i, strategy := range []string{"balanced", "ordered", "round_robin", "least_busy"} {
		fmt.Fprintf(&b, "  - {name: m%d, strategy: %s, targets: [{accounts: [%s]}, {accounts: [%s]}]}\n", i, strategy, ids(0, (n+1)/2), ids((n+1)/2, n))
	}
	b.WriteString(`policy:
  park_cap: 2s
  healthy_window: 2s
  rate_limit_park: 1s
  payment_recovery: 2s
  burst_cooldown: 1s
  trial_backoff: 1s
  trial_wait: 200ms
  pin_wait: 20ms
  max_elapsed: 20s
  first_token_timeout: 5s
  header_timeout: 5s
  idle_timeout: 5s
  trial_lease: 35s
  pin_ttl: 10s
`)
	return b.String()
}

func ids(from, to int) string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("acct-%02d", i))
	}
	return strings.Join(out, ", ")
}

// Models are the names that Pool routes.
var Models = []string{"m0", "m1", "m2", "m3"}
