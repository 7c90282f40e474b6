// Package natsbus wakes the replicas of a ledger over NATS. A message says
// *look* and carries nothing that anybody needs: core NATS may lose it, and the
// follower's poll finds what it would have told. It must not know what a ledger
// holds, nor that there is a PostgreSQL behind it.
//
// It speaks to the client library itself. A Watermill publisher would give each
// wake-up an id and headers and its subscriber would wait for an
// acknowledgement, for messages of which any number may be replaced by the last.
package natsbus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

const (
	// reconnectWait is the rest between two tries to reach a server.
	reconnectWait = 250 * time.Millisecond
	// flushTime bounds the wait for a server to know of a subscription.
	flushTime = 2 * time.Second
)

// errAway says that no server is reached. The connection is tried for ever.
var errAway = errors.New("the NATS server is away; replicas look at the ledger every 100 ms meanwhile")

// Bus is a ledger.Bus over a NATS server, or several of one cluster.
type Bus struct {
	conn    *nats.Conn
	subject string
	bell    *ledger.Bell
	end     context.CancelFunc
	done    chan struct{}
	lost    chan struct{} // something was lost: whoever watches must look
}

// Open connects to servers ("nats://host:4222", several separated by commas) and
// goes on trying when nobody is there. name is the ledger's, the same for all
// its replicas. The error is about the address.
func Open(servers, name string) (*Bus, error) {
	b := &Bus{subject: subject(name), bell: ledger.NewBell(), done: make(chan struct{}), lost: make(chan struct{}, 1)}
	var err error
	b.conn, err = nats.Connect(servers, nats.Name("waybill"),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.ReconnectBufSize(-1), // a wake-up that waits is worth nothing
		nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { b.lose() }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the default prints
	)
	if err != nil {
		return nil, fmt.Errorf("open bus: %w", withoutURL(err))
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.end = cancel
	go b.run(ctx)
	return b, nil
}

// withoutURL drops an address, which may hold a password, from an error.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// subject is where replicas of one ledger speak; other ledgers on the same
// server do not wake them.
func subject(name string) string {
	h := sha256.Sum256([]byte(name))
	return "waybill." + hex.EncodeToString(h[:8]) + ".head"
}

// Ring implements ledger.Bus.
func (b *Bus) Ring(head events.Position) { b.bell.Ring(head) }

func (b *Bus) run(ctx context.Context) {
	defer close(b.done)
	_ = b.bell.Swing(ctx, func(events.Position) error {
		_ = b.conn.Publish(b.subject, nil) // one that is lost costs a poll
		return nil
	})
}

func (b *Bus) lose() {
	select {
	case b.lost <- struct{}{}:
	default:
	}
}

// Watch implements ledger.Bus. It returns errAway when the server is lost;
// call it again until it is back.
func (b *Bus) Watch(ctx context.Context, poke func()) error {
	if !b.conn.IsConnected() {
		return errAway
	}
	select {
	case <-b.lost: // an older connection's
	default:
	}
	sub, err := b.conn.Subscribe(b.subject, func(*nats.Msg) { poke() })
	if err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := b.conn.FlushTimeout(flushTime); err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	poke() // what was sent before is lost
	select {
	case <-ctx.Done():
		return nil
	case <-b.lost:
		return errAway
	}
}

// Close says what is left to say and disconnects. Close the log before.
func (b *Bus) Close() error {
	b.end()
	<-b.done
	b.conn.Close()
	return nil
}
