// Package postgres is the ledger that many replicas share. It stores records
// and knows nothing of payloads.
//
// Whoever appends locks the one row of table head until its commit, so that
// position order is commit order: a follower that reads by position misses
// nothing, whatever the replicas do. Batches make up for the lock.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// ErrPermission says that the role may not do what opening the ledger needs.
var ErrPermission = errors.New("the role lacks a privilege")

// ErrRoles says that RequireRoles is set, and the application's role could change or
// remove what is stored.
var ErrRoles = errors.New("the role of the application may change the ledger")

// Options open a ledger.
type Options struct {
	URL          string          // of the application's role
	Owner        string          // of the role that owns the schema; "": the application's does both
	Schema       string          // [waybill]
	Segment      events.Position // positions of a new segment [1,000,000]
	RequireRoles bool            // refuse a role that append-only does not bind
	ReadOnly     bool            // never append, never migrate
	Silent       bool            // neither send notifications nor listen (another bus wakes the replicas, or none)
}

// Store is a ledger in a PostgreSQL database. It implements ledger.Store and
// ledger.Shared.
type Store struct {
	opt     Options
	pool    *pgxpool.Pool
	conf    *pgx.ConnConfig // of the connections outside the pool
	roles   Roles
	divided bool // into segments: its schema is not older than them
	indexed bool // by entries of accounts, likewise
	bell    *bell

	mu     sync.Mutex
	app    *appender // nil after a failure, until the next commit
	closed bool
	last   events.Position // of this process' commits
	reach  atomic.Uint64   // the last position that has a place, as last seen
	making atomic.Bool     // segments are being made
	maker  sync.WaitGroup
	holds  []func() // end the writers' locks, and the leases
	leases *leases  // nil until the first is wanted

	life     context.Context // of what catches up in the background
	end      context.CancelFunc
	entered  atomic.Uint64 // the last position whose account is entered, as last seen
	entering atomic.Bool   // accounts are being entered
	seen     atomic.Pointer[division]
}

// Open connects, brings the schema up to date and looks at the privileges.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Schema == "" {
		o.Schema = "waybill"
	}
	if o.Segment == 0 {
		o.Segment = 1_000_000
	}
	conf, err := config(o.URL, o.Schema)
	if err != nil {
		return nil, err
	}
	s := &Store{opt: o, conf: conf}
	s.life, s.end = context.WithCancel(context.Background())
	if err := s.start(ctx); err != nil {
		s.end()
		s.maker.Wait()
		if s.pool != nil {
			s.pool.Close()
		}
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == "42501" {
			err = fmt.Errorf("%w: %w", ErrPermission, err)
		}
		return nil, fmt.Errorf("open ledger %s: %w", where(conf), err)
	}
	return s, nil
}

func (s *Store) start(ctx context.Context) error {
	if !s.opt.ReadOnly {
		if err := migrate(ctx, s.opt, s.conf); err != nil {
			return err
		}
	}
	pc, err := pgxpool.ParseConfig(s.opt.URL)
	if err != nil {
		return errors.New("the URL cannot be read") // the error would show its password
	}
	pc.ConnConfig = s.conf.Copy()
	pc.MaxConns = 4
	if s.pool, err = pgxpool.NewWithConfig(ctx, pc); err != nil {
		return unavailable(err)
	}
	if err := s.find(ctx); err != nil {
		return err
	}
	if s.roles, err = readRoles(ctx, s.pool); err != nil {
		return unavailable(err)
	}
	if s.opt.RequireRoles && !s.roles.Separate {
		return fmt.Errorf("%w: %s", ErrRoles, s.roles.Detail)
	}
	if !s.opt.ReadOnly {
		if err := s.extend(ctx); err != nil {
			return err
		}
		s.catchUp()
	}
	if !s.opt.Silent && !s.opt.ReadOnly {
		s.bell = newBell(s.conf, channel(s.opt.Schema))
	}
	return nil
}

// find makes sure that there is a ledger.
func (s *Store) find(ctx context.Context) error {
	var there bool
	if err := s.pool.QueryRow(ctx, "SELECT to_regclass('events') IS NOT NULL AND to_regclass('head') IS NOT NULL, to_regclass('archived') IS NOT NULL, coalesce(has_table_privilege(to_regclass('account_events'), 'SELECT'), false)").Scan(&there, &s.divided, &s.indexed); err != nil {
		return unavailable(err)
	}
	if !there {
		return fmt.Errorf("%w: no schema %q", ledger.ErrNotFound, s.opt.Schema)
	}
	return nil
}

// config reads a URL into what every connection uses.
func config(url, schema string) (*pgx.ConnConfig, error) {
	conf, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("open ledger: the PostgreSQL URL cannot be read")
	}
	conf.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	conf.RuntimeParams["application_name"] = "waybill"
	// Every query has its index. A plan made while the table was small and kept
	// with its statement would scan the whole of it for ever after.
	conf.RuntimeParams["enable_seqscan"] = "off"
	conf.RuntimeParams["jit"] = "off" // nothing here runs long enough to be worth compiling
	if conf.ConnectTimeout == 0 {
		conf.ConnectTimeout = 5 * time.Second
	}
	return conf, nil
}

// where names a database without its password.
func where(c *pgx.ConnConfig) string {
	return fmt.Sprintf("postgres://%s@%s/%s", c.User, net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database)
}

// Name is the same for all replicas of a ledger, whatever role and address they
// reach it by.
func (s *Store) Name() string { return s.conf.Database + "/" + s.opt.Schema }

// Roles says who enforces append-only.
func (s *Store) Roles() Roles { return s.roles }

// Commit implements ledger.Store.
func (s *Store) Commit(ctx context.Context, batch []events.Record) ([]ledger.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ledger.ErrClosed
	case s.opt.ReadOnly:
		return nil, errors.New("append: the ledger is open for reading only")
	case len(batch) == 0:
		return nil, nil
	}
	if s.app == nil {
		var err error
		if s.app, err = openAppender(ctx, s.conf); err != nil {
			return nil, fmt.Errorf("commit: connect: %w", unavailable(err))
		}
	}
	if uint64(s.last)+uint64(len(batch)) > s.reach.Load() { // the background is behind
		if err := s.extend(ctx); err != nil {
			return nil, fmt.Errorf("commit: %w", err)
		}
	}
	results, head, err := s.app.commit(ctx, batch)
	if err != nil {
		s.app.close() // whatever became of it, the next commit starts anew
		s.app = nil
		return nil, fmt.Errorf("commit %d events: %w", len(batch), s.room(ctx, unavailable(err)))
	}
	if head != 0 {
		s.last = head
		s.ahead()
	}
	if s.bell != nil && head != 0 {
		s.bell.Ring(head)
	}
	return results, nil
}

// Head implements ledger.Store.
func (s *Store) Head(ctx context.Context) (h ledger.Head, err error) {
	if s.isClosed() {
		return h, ledger.ErrClosed
	}
	var position, at int64
	var hash []byte
	err = s.pool.QueryRow(ctx, "SELECT position, recorded_at, hash FROM head").Scan(&position, &at, &hash)
	if err != nil {
		return h, fmt.Errorf("read head: %w", unavailable(err))
	}
	h.Position, h.RecordedAt = events.Position(position), events.Time(at)
	if position > 0 {
		copy(h.Hash[:], hash)
	}
	return h, nil
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close implements ledger.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, end := range s.holds {
		end()
	}
	if s.app != nil {
		s.app.close()
	}
	if s.bell != nil {
		s.bell.close()
	}
	s.end()
	s.maker.Wait()
	s.pool.Close()
	return nil
}

// once says each line of an error once: a server is tried with TLS and without,
// and fails alike.
type once struct{ error }

func (e once) Error() string {
	var lines []string
	for line := range strings.Lines(e.error.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

func (e once) Unwrap() error { return e.error }

// unavailable marks what may pass by itself: lost connections, a server that
// restarts or is out of something, a lock or a deadline missed.
func unavailable(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, ledger.ErrBroken):
		return err
	case !errors.As(err, &pg):
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, once{err})
	}
	if pg.Code == "XX001" || pg.Code == "XX002" || strayed(pg) { // data or an index are corrupted, or a place is taken
		return fmt.Errorf("%w: %w", ledger.ErrBroken, err)
	}
	switch pg.Code[:2] {
	case "08", "40", "53", "55", "57", "58":
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	return err
}
