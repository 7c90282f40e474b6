package gateway

import (
	"sync"

	"github.com/waybill/waybill/events"
)

// made remembers which account made a stored response: only that account can
// continue, show or delete it (R14). It is bounded and lives as long as the
// process; what it has forgotten the ledger may still know.
type made struct {
	mu sync.Mutex
	by recent[events.Digest, uint32] // roster number
}

// keepMade bounds the memory of stored responses.
const keepMade = 1 << 16

// thing names a stored response of a client.
func thing(client, id string) events.Digest {
	return events.DigestOf("waybill stored response", client, id)
}

func (m *made) note(t events.Digest, account uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.by.put(t, account, keepMade)
}

// of is the account that made a response, 0 when it is not remembered.
func (m *made) of(t events.Digest) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	account, _ := m.by.get(t)
	return account
}

// noteMade remembers what a successful attempt has stored.
func (a *attempt) noteMade(id string) {
	if id == "" || a.x.route.Tied {
		return
	}
	t := thing(a.x.client.ID, id)
	a.x.g.made.note(t, a.Account.No)
	a.Made(t)
}

// madeBy is the account that made what the request names, 0 when unknown.
func (x *exchange) madeBy(id string) uint32 {
	if id == "" {
		return 0
	}
	t := thing(x.client.ID, id)
	if n := x.g.made.of(t); n != 0 {
		return n
	}
	return x.g.engine.MadeBy(t)
}
