package clients

import (
	"fmt"
	"testing"
	"time"

	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/upstream"
)

// config has two accounts per dialect on the scripted upstream: the first is
// preferred, so that a script decides what a request meets.
const config = `accounts:
  - {id: oa, provider: openai-compatible, api_key: oa-key, base_url: "%[1]s/v1", priority: 0}
  - {id: ob, provider: openai-compatible, api_key: ob-key, base_url: "%[1]s/v1", priority: 1}
  - {id: aa, provider: anthropic, api_key: aa-key, base_url: "%[1]s", priority: 0}
  - {id: ab, provider: anthropic, api_key: ab-key, base_url: "%[1]s", priority: 1}
  - {id: ga, provider: gemini, api_key: ga-key, base_url: "%[1]s", priority: 0}
  - {id: gb, provider: gemini, api_key: gb-key, base_url: "%[1]s", priority: 1}
models:
  - name: gpt-test
    strategy: ordered
    targets: [{accounts: [oa, ob]}]
  - name: claude-test
    strategy: ordered
    targets: [{accounts: [aa, ab]}]
  - name: gemini-test
    strategy: ordered
    targets: [{accounts: [ga, gb]}]
clients:
  - {id: app, key: client-key}
policy:
  burst_cooldown: 1s
`

// world is one gateway in front of one scripted upstream.
func world(t *testing.T) (*upstream.Server, *binary.Gateway) {
	t.Helper()
	up := upstream.New(t)
	up.Script("*", upstream.Good)
	return up, binary.Start(t, fmt.Sprintf(config, up.URL()))
}

// gone fails the test unless the upstream saw its peer leave soon.
func gone(t *testing.T, hit *upstream.Hit) {
	t.Helper()
	select {
	case <-hit.Gone:
	case <-time.After(5 * time.Second):
		t.Fatal("the upstream's connection was not closed after the client had left")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
