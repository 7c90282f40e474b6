package bugs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waybill/waybill/test/upstream"
)

// B077: trailers are dropped in both directions, declared or not.
func Test_B077_trailers(t *testing.T) {
	body := strings.Join(upstream.ChatEvents, "")
	for name, tail := range map[string]string{
		"declared": "0\r\nX-Usage: 5\r\n\r\n", "undeclared": "0\r\nX-Other: 1\r\nAuthorization: Bearer x\r\nContent-Length: 1\r\n\r\n", "malformed": "0\r\nthis is no trailer\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.up.Script("a", upstream.Steps(
				upstream.Bytes("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nTrailer: X-Usage\r\n\r\n"),
				upstream.Raw(body), upstream.Bytes(tail)))
			res, err := w.request(t.Context(), chatS)
			if err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, res); got != body {
				t.Errorf("body %q", got)
			}
			if len(res.Trailer) > 0 || res.Header.Get("X-Usage") != "" || res.Header.Get("Trailer") != "" || res.Header.Get("Authorization") != "" {
				t.Errorf("trailers %v, headers %v", res.Trailer, res.Header)
			}
			w.finished(1)
			w.wantClasses("a:success")
		})
	}
	t.Run("malformed_after_a_plain_answer", func(t *testing.T) {
		w := start(t)
		w.up.Script("a", upstream.Steps(
			upstream.Bytes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"),
			upstream.Raw(upstream.ChatBody), upstream.Bytes("0\r\nthis is no trailer\r\n\r\n")))
		got := w.do(chat)
		got.want(t, 200)
		if got.body != upstream.ChatBody {
			t.Errorf("body %q", got.body)
		}
	})
	t.Run("of_a_request", func(t *testing.T) {
		w := start(t)
		w.good("a")
		got := rawBytes(t, w, "POST", "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"+
			fmt.Sprintf("%x\r\n%s\r\n0\r\nX-Sum: 1\r\nAuthorization: Bearer other\r\n\r\n", len(chat.body), chat.body))
		if got.status != 200 {
			t.Errorf("status %d: %s", got.status, got.body)
		}
		h := w.up.Hits("a")[0]
		if string(h.Body) != chat.body || strings.Contains(h.Head, "X-Sum") || strings.Contains(h.Head, "Trailer") {
			t.Errorf("upstream got %s%s", h.Head, h.Body)
		}
	})
}
