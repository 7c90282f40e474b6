package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// jsonAnswer is a chat completion of about 1 KB.
var jsonAnswer = []byte(`{"id":"chatcmpl-bench","object":"chat.completion","created":1796000000,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"` +
	strings.Repeat("lorem ipsum ", 64) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":130,"total_tokens":142}}`)

// sseAnswer is a stream of 20 chunks, the last one [DONE].
var sseAnswer = func() [][]byte {
	out := make([][]byte, 0, 20)
	for i := range 18 {
		out = append(out, fmt.Appendf(nil, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1796000000,\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"token number %d \"},\"finish_reason\":null}]}\n\n", i))
	}
	out = append(out, []byte("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1796000000,\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":18,\"total_tokens\":30}}\n\n"))
	return append(out, []byte("data: [DONE]\n\n"))
}()

// listen prints the address on a line of its own for the parent.
func listen(h http.Handler) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	return (&http.Server{Handler: h}).Serve(ln)
}

// serveUpstream answers chat completions; the model "slow" takes 25 ms.
func serveUpstream() error {
	return listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if bytes.Contains(body, []byte(`"slow"`)) {
			time.Sleep(25 * time.Millisecond)
		}
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			w.Write(jsonAnswer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		for _, c := range sseAnswer {
			w.Write(c)
			flush.Flush()
		}
	}))
}

// serveProxy is the baseline: a ReverseProxy with a tuned transport that reads
// the request body before it dials (golang/go#40747 cuts streams otherwise).
func serveProxy(upstream string) error {
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	p := &httputil.ReverseProxy{
		Transport: &http.Transport{
			MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, IdleConnTimeout: time.Minute, DisableCompression: true,
		},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			body, err := io.ReadAll(r.In.Body)
			if err == nil {
				r.Out.Body = io.NopCloser(bytes.NewReader(body))
				r.Out.ContentLength = int64(len(body))
			}
		},
	}
	return listen(p)
}
