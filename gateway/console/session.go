package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/waybill/waybill/events"
)

const (
	cookieName  = "waybill_console"
	sessionLife = 12 * time.Hour // after the last page
	maxSessions = 1000
	maxTries    = 5 // wrong tokens from one address
	triesLife   = time.Minute
	maxCallers  = 10_000 // addresses whose tries are remembered
)

// sessions are the browsers that know the token. They live in memory: a
// restarted gateway asks again. An id is kept as its digest only.
type sessions struct {
	random io.Reader
	key    [32]byte // of the forms' tokens

	mu    sync.Mutex
	known map[[sha256.Size]byte]events.Time // when each was last seen
	tries map[string]tries
}

type tries struct {
	count int
	since events.Time
}

func newSessions(random io.Reader) *sessions {
	s := &sessions{random: random, known: map[[sha256.Size]byte]events.Time{}, tries: map[string]tries{}}
	s.fill(s.key[:])
	return s
}

func (s *sessions) fill(b []byte) {
	if _, err := io.ReadFull(s.random, b); err != nil {
		panic(err) // crypto/rand does not fail
	}
}

func (s *sessions) newID() string {
	var b [32]byte
	s.fill(b[:])
	return hex.EncodeToString(b[:])
}

// cookie is the browser's id, a new one for a new browser. It says nothing about
// whether its owner may come in.
func (s *sessions) cookie(w http.ResponseWriter, r *http.Request) string {
	if c, err := r.Cookie(cookieName); err == nil && len(c.Value) == 64 {
		return c.Value
	}
	id := s.newID()
	s.set(w, r, id)
	return id
}

func (s *sessions) set(w http.ResponseWriter, r *http.Request, id string) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"})
}

// csrf is the token that the forms of a session carry.
func (s *sessions) csrf(id string) string {
	m := hmac.New(sha256.New, s.key[:])
	m.Write([]byte(id)) // never fails
	return hex.EncodeToString(m.Sum(nil))
}

func (s *sessions) genuine(id, token string) bool {
	return hmac.Equal([]byte(s.csrf(id)), []byte(token))
}

// in says whether an id has logged in, and keeps it alive.
func (s *sessions) in(id string, now events.Time) bool {
	key := sha256.Sum256([]byte(id))
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.known[key]
	if !ok {
		return false
	}
	if now.Sub(seen) > sessionLife {
		delete(s.known, key)
		return false
	}
	s.known[key] = now
	return true
}

// enter makes a session and returns its id: never one that was known before.
func (s *sessions) enter(now events.Time) string {
	id := s.newID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxSessions {
		s.dropOldest()
	}
	s.known[sha256.Sum256([]byte(id))] = now
	return id
}

func (s *sessions) dropOldest() {
	var oldest [sha256.Size]byte
	first := true
	for key, seen := range s.known {
		if first || seen < s.known[oldest] {
			oldest, first = key, false
		}
	}
	delete(s.known, oldest)
}

func (s *sessions) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, sha256.Sum256([]byte(id)))
}

// try says whether an address may try a token, and counts it. A right one is
// forgiven. wait is how long it must rest else.
func (s *sessions) try(addr string, now events.Time) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := caller(addr)
	t, ok := s.tries[who]
	if !ok && len(s.tries) >= maxCallers {
		s.forgetTries(now)
	}
	if now.Sub(t.since) > triesLife {
		t = tries{since: now}
	}
	if t.count >= maxTries {
		return triesLife - now.Sub(t.since)
	}
	t.count++
	s.tries[who] = t
	return 0
}

func (s *sessions) forgive(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tries, caller(addr))
}

// forgetTries makes room: what has rested long enough goes, else everything.
func (s *sessions) forgetTries(now events.Time) {
	for who, t := range s.tries {
		if now.Sub(t.since) > triesLife {
			delete(s.tries, who)
		}
	}
	if len(s.tries) >= maxCallers {
		clear(s.tries)
	}
}

// caller is what tries are counted by: an address, of IPv6 the network.
func caller(addr string) string {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr
	}
	ip := ap.Addr().Unmap()
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}
