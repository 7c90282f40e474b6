package gateway

import (
	"crypto/sha256"
	"io"
	"net/http"
	"sync"

	"github.com/waybill/waybill/gateway/dialect"
)

// keysKept is how many idempotency keys are remembered; the oldest goes first.
const keysKept = 4096

// keyring remembers which body came with which idempotency key, as digests. A
// key is passed on untouched, for the upstream to honour; what is caught here
// is one key with two bodies, which is a mistake of the client's (B106). It is
// a courtesy of one process: nothing is decided or charged by it.
type keyring struct {
	mu   sync.Mutex
	body recent[[sha256.Size]byte, [sha256.Size]byte]
}

// agrees notes a key's body, and says whether it is the one that it came with
// before.
func (k *keyring) agrees(key, body [sha256.Size]byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if was, known := k.body.get(key); known {
		return was == body
	}
	k.body.put(key, body, keysKept)
	return true
}

// keyAgrees refuses a request whose idempotency key came with another body.
func (x *exchange) keyAgrees() bool {
	v := x.r.Header["Idempotency-Key"]
	if len(v) == 0 || v[0] == "" || x.body == nil {
		return true
	}
	key, sum := sha256.Sum256([]byte(x.client.ID+"\x00"+v[0])), sha256.New()
	_, _ = io.WriteString(sum, x.r.URL.Path+"\x00")
	if _, err := io.Copy(sum, x.body.Open()); err != nil {
		return true // the attempt will meet the same fault, and tell it
	}
	if x.g.keys.agrees(key, [sha256.Size]byte(sum.Sum(nil))) {
		return true
	}
	x.turnAway(dialect.Refusal{Code: "idempotency_conflict", Status: http.StatusConflict, NoRetry: true,
		Message: "this idempotency key came with another request before; use a new key for a new request"})
	return false
}
