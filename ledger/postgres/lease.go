package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/ledger"
)

// A process holds all its leases as advisory locks of one session. The server
// ends a session that says nothing for leaseIdle, so that the leases of a
// process that is frozen, or cut off, are free as soon as those of a dead one.
// The holder measures the same time from before it last spoke: it has given up
// before the server does.
const (
	leaseBeat = 500 * time.Millisecond
	leaseIdle = 3 * time.Second
)

// Lease implements ledger.Leases.
func (s *Store) Lease(ctx context.Context, name string, fn func(ctx context.Context)) {
	k := s.leaseKeeper()
	c := &claim{ctx: ctx, key: leaseKey(s.opt.Schema, name), held: make(chan context.Context, 1)}
	k.want(c)
	defer k.drop(c)
	for {
		select {
		case <-ctx.Done():
			return
		case held := <-c.held:
			if held.Err() != nil {
				continue
			}
			if fn(held); held.Err() == nil {
				return
			}
		}
	}
}

// leaseKey is the number that PostgreSQL knows a lease by.
func leaseKey(schema, name string) int64 {
	h := sha256.Sum256([]byte("lease\x00" + schema + "\x00" + name))
	return int64(binary.BigEndian.Uint64(h[:]))
}

// claim is one call of Lease.
type claim struct {
	ctx  context.Context
	key  int64
	held chan context.Context // a context each time the lease is got
	lose context.CancelFunc   // ends it; nil while the lease is not held
}

// leases keeps the session and who waits for which lock.
type leases struct {
	conf *pgx.ConnConfig
	wake chan struct{}

	mu     sync.Mutex
	claims map[int64][]*claim // in the order of their calls: the first holds, or will
	locked map[int64]bool     // what the session holds
}

// leaseKeeper starts the session of the leases with the first that is wanted.
func (s *Store) leaseKeeper() *leases {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases != nil {
		return s.leases
	}
	conf := s.conf.Copy()
	conf.RuntimeParams["idle_session_timeout"] = leaseIdle.String()
	s.leases = &leases{conf: conf, wake: make(chan struct{}, 1), claims: map[int64][]*claim{}, locked: map[int64]bool{}}
	life, end := context.WithCancel(context.Background())
	if s.closed {
		end()
	}
	done := make(chan struct{})
	s.holds = append(s.holds, func() {
		end()
		<-done
	})
	go func() {
		defer close(done)
		s.leases.run(life)
	}()
	return s.leases
}

func (k *leases) want(c *claim) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.claims[c.key] = append(k.claims[c.key], c)
	k.poke()
}

func (k *leases) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// drop ends a claim. The next of this process has its lease, or nobody: then
// the lock is given back.
func (k *leases) drop(c *claim) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.lose != nil {
		c.lose()
	}
	queue := k.claims[c.key]
	for i := range queue {
		if queue[i] == c {
			queue = append(queue[:i:i], queue[i+1:]...)
			break
		}
	}
	if k.claims[c.key] = queue; len(queue) == 0 {
		delete(k.claims, c.key)
	}
	k.grant(c.key)
	k.poke()
}

// grant gives a lock that the session holds to whoever waits first. k.mu is held.
func (k *leases) grant(key int64) {
	if queue := k.claims[key]; len(queue) > 0 && queue[0].lose == nil && k.locked[key] {
		var held context.Context
		held, queue[0].lose = context.WithCancel(queue[0].ctx)
		select {
		case <-queue[0].held: // of a session that ended before it was taken
		default:
		}
		queue[0].held <- held
	}
}

// lost takes everything back: the session's locks cannot be relied on any more.
func (k *leases) lost() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.locked {
		if c := k.claims[key]; len(c) > 0 && c[0].lose != nil {
			c[0].lose()
			c[0].lose = nil
		}
	}
	clear(k.locked)
}

// run speaks to the server every beat until life ends.
func (k *leases) run(life context.Context) {
	for life.Err() == nil {
		if conn, err := pgx.ConnectConfig(life, k.conf); err == nil {
			k.session(life, conn)
		}
		ledger.Rest(life, leaseBeat)
	}
}

// session holds what it can until the connection fails, or the server may have
// ended it.
func (k *leases) session(life context.Context, conn *pgx.Conn) {
	defer closeSoon(conn)
	defer k.lost()
	end := time.AfterFunc(leaseIdle, k.lost)
	defer end.Stop()
	for life.Err() == nil {
		spoken := time.Now()
		got, err := k.speak(life, conn)
		until := spoken.Add(leaseIdle)
		if err != nil || !end.Reset(time.Until(until)) {
			return
		}
		k.take(got, until)
		beat := time.NewTimer(leaseBeat)
		select {
		case <-life.Done():
		case <-k.wake:
		case <-beat.C:
		}
		beat.Stop()
	}
}

// speak gives back locks that nobody wants and tries those that are wanted.
func (k *leases) speak(ctx context.Context, conn *pgx.Conn) (got []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaseIdle)
	defer cancel()
	free, wanted := k.differences()
	if len(free) > 0 {
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_unlock(k) FROM unnest($1::bigint[]) k", free); err != nil {
			return nil, err
		}
	}
	rows, err := conn.Query(ctx, "SELECT k FROM unnest($1::bigint[]) k WHERE pg_try_advisory_lock(k)", wanted)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// differences are the locks that are held and not wanted, which are given up
// here, and those that are wanted and not held.
func (k *leases) differences() (free, wanted []int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	wanted = []int64{}
	for key := range k.locked {
		if len(k.claims[key]) == 0 {
			free = append(free, key)
			delete(k.locked, key)
		}
	}
	for key := range k.claims {
		if !k.locked[key] {
			wanted = append(wanted, key)
		}
	}
	return free, wanted
}

// take hands out what was got, unless that was too long ago: a process may be
// frozen anywhere.
func (k *leases) take(keys []int64, until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Now().After(until) {
		return
	}
	for _, key := range keys {
		k.locked[key] = true
		k.grant(key)
	}
}
