package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestTheSeriesArePushedToACollector: the same ones as /metrics has, at the
// latest when the gateway stops.
func TestTheSeriesArePushedToACollector(t *testing.T) {
	var mu sync.Mutex
	var path, got string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		path, got = r.URL.Path, got+string(b)
	}))
	defer collector.Close()
	g := startServe(t, t.TempDir(), []string{"sandbox"}, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_SERVICE_NAME=gateway-7")
	if a := g.chat("gpt-5"); a.status != http.StatusOK {
		t.Fatal(a)
	}
	if code := g.stop(); code != exitFine {
		t.Errorf("ended with %d", code)
	}
	mu.Lock()
	defer mu.Unlock()
	if path != "/v1/metrics" {
		t.Errorf("pushed to %q", path)
	}
	for _, word := range []string{"waybill_requests_total", "waybill_ledger_position", "waybill_first_byte_seconds", "gateway-7"} {
		if !strings.Contains(got, word) {
			t.Errorf("the collector has no %s", word)
		}
	}
}

// TestACollectorThatIsAwayCostsNothing but its readings.
func TestACollectorThatIsAwayCostsNothing(t *testing.T) {
	g := startServe(t, t.TempDir(), []string{"sandbox"}, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
	if a := g.chat("gpt-5"); a.status != http.StatusOK {
		t.Fatal(a)
	}
	if code := g.stop(); code != exitFine {
		t.Errorf("ended with %d", code)
	}
	g.env = append(g.env, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	if code, _, errs := g.shell("sandbox"); code != exitUsage || !strings.Contains(errs, "use http/protobuf") {
		t.Errorf("another protocol: %d %s", code, errs)
	}
}
