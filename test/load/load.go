// Package load drives a gateway with clients that keep a record of their own:
// every request id whose first byte they have seen, outside of the process
// that is tested.
package load

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Client sends chat completions, whole and streamed, with and without a session.
type Client struct {
	URL      string // of the gateway's data plane
	Key      string
	Models   []string
	Sessions int     // requests are spread over so many sessions; half have none
	Streams  float64 // share of streamed requests
	Tokens   int     // hint in the prompt, so that bodies differ

	http *http.Client
	mu   sync.Mutex
	seen []Answer
	sent atomic.Int64
	got  atomic.Int64
	cut  atomic.Int64
	by   map[int]int
}

// New is a client with connections of its own.
func New(url string, models ...string) *Client {
	return &Client{URL: url, Models: models, Sessions: 16, Streams: 0.5, by: map[int]int{},
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}}
}

// Answer is an answer of which the client has seen the first byte.
type Answer struct {
	Request string // Waybill-Request-Id
	Status  int
	Refusal string // Waybill-Refusal
}

// Seen lists all requests that got a first byte.
func (c *Client) Seen() []Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Answer(nil), c.seen...)
}

// Answered counts whole answers, of any status.
func (c *Client) Answered() int64 { return c.got.Load() }

// Broken counts requests without a whole answer, those apart that were under
// way when Run's context ended.
func (c *Client) Broken() int64 { return c.cut.Load() }

// Take adds what another client has seen.
func (c *Client) Take(o *Client) {
	seen := o.Seen()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, seen...)
}

// Keep forgets the answers that fn does not hold.
func (c *Client) Keep(fn func(Answer) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = slices.DeleteFunc(c.seen, func(a Answer) bool { return !fn(a) })
}

// Statuses counts whole answers by status.
func (c *Client) Statuses() map[int]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[int]int, len(c.by))
	for k, v := range c.by {
		out[k] = v
	}
	return out
}

// Run sends n requests (0: until ctx ends) from so many workers. Which request
// is what follows from the seed and its number.
func (c *Client) Run(ctx context.Context, workers int, n int64, seed uint64) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := c.sent.Add(1)
				if n > 0 && i > n {
					return
				}
				c.one(ctx, rand.New(rand.NewPCG(seed, uint64(i))))
			}
		})
	}
	wg.Wait()
	c.http.CloseIdleConnections()
}

func (c *Client) one(outer context.Context, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(outer, 30*time.Second)
	defer cancel()
	stream := r.Float64() < c.Streams
	body := fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":%q}]}`,
		c.Models[r.IntN(len(c.Models))], stream, strings.Repeat("hi ", 1+r.IntN(1+c.Tokens)))
	req, err := http.NewRequestWithContext(ctx, "POST", c.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	if s := r.IntN(2 * max(c.Sessions, 1)); s < c.Sessions {
		req.Header.Set("Waybill-Session", fmt.Sprintf("s%d", s))
	}
	resp, err := c.http.Do(req)
	if err != nil { // the gateway was killed: no first byte
		c.broken(outer)
		return
	}
	defer resp.Body.Close()
	c.mu.Lock()
	c.seen = append(c.seen, Answer{resp.Header.Get("Waybill-Request-Id"), resp.StatusCode, resp.Header.Get("Waybill-Refusal")})
	c.mu.Unlock()
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		c.got.Add(1)
		c.mu.Lock()
		c.by[resp.StatusCode]++
		c.mu.Unlock()
	} else {
		c.broken(outer)
	}
}

func (c *Client) broken(ctx context.Context) {
	if ctx.Err() == nil {
		c.cut.Add(1)
	}
}
