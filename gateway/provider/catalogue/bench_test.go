package catalogue

import (
	"net/http"
	"testing"

	"github.com/waybill/waybill/gateway/provider"
)

// BenchmarkReading is what every success pays for its quota headers.
func BenchmarkReading(b *testing.B) {
	h := http.Header{}
	for k, v := range map[string]string{"Content-Type": "application/json", "Date": "Mon, 30 Nov 2026 00:00:00 GMT", "X-Request-Id": "x", "Server": "x",
		"X-Ratelimit-Limit-Requests": "500", "X-Ratelimit-Remaining-Requests": "499", "X-Ratelimit-Reset-Requests": "120ms",
		"Anthropic-Ratelimit-Unified-Status": "allowed", "Anthropic-Ratelimit-Unified-5h-Status": "allowed", "Anthropic-Ratelimit-Unified-5h-Utilization": "0.21",
		"Anthropic-Ratelimit-Unified-5h-Reset": "1796001800", "Anthropic-Ratelimit-Unified-7d-Status": "allowed", "Anthropic-Ratelimit-Unified-7d-Utilization": "0.4",
		"Anthropic-Ratelimit-Unified-7d-Reset": "1796176800"} {
		h.Set(k, v)
	}
	bare := http.Header{"Content-Type": {"application/json"}, "Date": {"Mon, 30 Nov 2026 00:00:00 GMT"}}
	for _, id := range []string{"openai", "anthropic", "anthropic-oauth", "chatgpt-codex", "cerebras"} {
		p := Find(id)
		for name, head := range map[string]http.Header{"headers": h, "none": bare} {
			a := provider.Answer{Status: 200, Header: head, Model: "m", At: at}
			b.Run(id+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.Reading(&a)
				}
			})
		}
	}
}

// BenchmarkClassify is what every failure pays for its meaning.
func BenchmarkClassify(b *testing.B) {
	for id, body := range map[string]string{
		"openai":    `{"error":{"message":"Rate limit reached for m on tokens per min (TPM): Limit 30000. Please try again in 6.512s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
		"anthropic": claude("This request would exceed your organization's rate limit"),
		"gemini":    freeTier("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "38s"),
	} {
		p := Find(id)
		b.Run(id, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Classify(answer(429, body, "Retry-After", "7"))
			}
		})
	}
}
