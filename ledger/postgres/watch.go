package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// channel is the name that replicas of a schema listen on.
func channel(schema string) string { return schema + "_ledger" }

// Watch implements ledger.Shared: it listens on a connection of its own and
// pokes at every notification, and once when it has begun to listen, since
// those sent before are lost. It returns when ctx ends or the connection does.
// A silent store does not listen: followers look, or another bus wakes them.
func (s *Store) Watch(ctx context.Context, poke func()) error {
	if s.opt.Silent {
		<-ctx.Done()
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, s.conf)
	if err != nil {
		return unavailable(err)
	}
	defer closeSoon(conn)
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
// flush). A lost one costs a poll.
type bell struct {
	*ledger.Bell
	conf    *pgx.ConnConfig
	channel string
	cancel  context.CancelFunc
	done    chan struct{}
}

const bellRetry = 250 * time.Millisecond

func newBell(conf *pgx.ConnConfig, channel string) *bell {
	c := conf.Copy()
	c.RuntimeParams["synchronous_commit"] = "off"
	ctx, cancel := context.WithCancel(context.Background())
	b := &bell{Bell: ledger.NewBell(), conf: c, channel: channel, cancel: cancel, done: make(chan struct{})}
	go b.run(ctx)
	return b
}

func (b *bell) run(ctx context.Context) {
	defer close(b.done)
	for ctx.Err() == nil {
		conn, err := pgx.ConnectConfig(ctx, b.conf)
		if err == nil {
			_ = b.Swing(ctx, func(head events.Position) error {
				_, err := conn.Exec(ctx, "SELECT pg_notify($1, $2)", b.channel, strconv.FormatUint(uint64(head), 10))
				return err
			})
			closeSoon(conn)
		}
		ledger.Rest(ctx, bellRetry)
	}
}

func (b *bell) close() {
	b.cancel()
	<-b.done
}
