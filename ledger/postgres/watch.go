package postgres

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/events"
)

// channel is the name that replicas of a schema listen on.
func channel(schema string) string { return schema + "_ledger" }

// Watch implements ledger.Shared: it listens on a connection of its own and
// pokes at every notification, and once when it has begun to listen, since
// those sent before are lost. It returns when ctx ends or the connection does.
func (s *Store) Watch(ctx context.Context, poke func()) error {
	conn, err := pgx.ConnectConfig(ctx, s.conf)
	if err != nil {
		return unavailable(err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(end)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel(s.opt.Schema)}.Sanitize()); err != nil {
		return unavailable(err)
	}
	poke()
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return unavailable(err)
		}
		poke()
	}
}

// bell tells other replicas that the ledger has grown: a notification with the
// head's position, in a transaction of its own that nobody waits for, never
// inside an append (whose lock and NOTIFY's own would then be held through a
// flush), at most one every two milliseconds. A lost one costs a poll.
type bell struct {
	conf    *pgx.ConnConfig
	channel string
	wake    chan struct{}
	cancel  context.CancelFunc
	done    chan struct{}

	mu   sync.Mutex
	head events.Position
}

const (
	bellRest  = 2 * time.Millisecond
	bellRetry = 250 * time.Millisecond
)

func newBell(conf *pgx.ConnConfig, channel string) *bell {
	c := conf.Copy()
	c.RuntimeParams["synchronous_commit"] = "off"
	ctx, cancel := context.WithCancel(context.Background())
	b := &bell{conf: c, channel: channel, wake: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{})}
	go b.run(ctx)
	return b
}

func (b *bell) ring(head events.Position) {
	b.mu.Lock()
	b.head = head
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *bell) run(ctx context.Context) {
	defer close(b.done)
	for ctx.Err() == nil {
		conn, err := pgx.ConnectConfig(ctx, b.conf)
		if err == nil {
			b.serve(ctx, conn)
			_ = conn.Close(ctx)
		}
		pause(ctx, bellRetry)
	}
}

// serve notifies until the connection fails.
func (b *bell) serve(ctx context.Context, conn *pgx.Conn) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.wake:
		}
		b.mu.Lock()
		head := b.head
		b.mu.Unlock()
		if _, err := conn.Exec(ctx, "SELECT pg_notify($1, $2)", b.channel, strconv.FormatUint(uint64(head), 10)); err != nil {
			return
		}
		pause(ctx, bellRest)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (b *bell) close() {
	b.cancel()
	<-b.done
}
