package ledger

import (
	"context"
	"sync"

	"github.com/waybill/waybill/events"
)

// maxHashes bounds how many hashes a log remembers.
const maxHashes = 4096

// hashes remembers what stands at some positions. It never changes.
type hashes struct {
	mu sync.Mutex
	at map[events.Position]events.Hash
}

// HashAt is the hash of the event at a position; ok is false where the ledger
// has none. Each is looked up once.
func (l *Log) HashAt(ctx context.Context, at events.Position) (hash events.Hash, ok bool, err error) {
	if hash, ok = l.hashes.known(at); ok || at == 0 {
		return hash, ok, nil
	}
	err = l.store.Scan(ctx, at-1, Filter{UpTo: at}, 1, func(r *Row) error {
		hash, ok = r.Hash, r.Position == at
		return nil
	})
	if ok && err == nil {
		l.hashes.learn(at, hash)
	}
	return hash, ok && err == nil, err
}

func (h *hashes) known(at events.Position) (events.Hash, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hash, ok := h.at[at]
	return hash, ok
}

func (h *hashes) learn(at events.Position, hash events.Hash) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at == nil || len(h.at) >= maxHashes {
		h.at = map[events.Position]events.Hash{}
	}
	h.at[at] = hash
}
