// Package brokers tests what Waybill says to message brokers against the real
// thing in this process: NATS and Kafka. It is a module of its own, so that
// no broker is a dependency of the product.
package brokers

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// NATS is a server in this process, on a port that stays its own.
type NATS struct {
	*server.Server
	options server.Options
}

// StartNATS starts a server with JetStream and stops it with the test.
func StartNATS(t *testing.T) *NATS {
	t.Helper()
	n := &NATS{options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 64 << 20,
	}}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Stop)
	return n
}

// Start starts it, again after Stop.
func (n *NATS) Start() error {
	o := n.options // the server fills in what is absent
	s, err := server.NewServer(&o)
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("the NATS server does not start")
	}
	n.Server, n.options.Port = s, o.Port
	return nil
}

// Stop stops it and keeps its port and its files.
func (n *NATS) Stop() {
	n.Shutdown()
	n.WaitForShutdown()
}

// URL is where it listens.
func (n *NATS) URL() string { return n.ClientURL() }
