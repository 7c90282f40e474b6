package gateway

import "sync"

// made remembers which account made a stored response: only that account can
// continue, show or delete it (R14). It is bounded and lives as long as the
// process; an id that it does not know is placed like any request.
type made struct {
	mu   sync.Mutex
	by   map[string]string // response id -> account id
	ring []string
	next int
}

// keepMade bounds the memory of stored responses.
const keepMade = 1 << 16

func (m *made) note(id, account string) {
	if id == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[string]string{}
	}
	if _, known := m.by[id]; !known {
		if len(m.ring) < keepMade {
			m.ring = append(m.ring, id)
		} else {
			delete(m.by, m.ring[m.next])
			m.ring[m.next] = id
			m.next = (m.next + 1) % keepMade
		}
	}
	m.by[id] = account
}

func (m *made) of(id string) (account string) {
	if id == "" {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.by[id]
}
