package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/waybill/waybill/gateway"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/console"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/gateway/quota"
	"github.com/waybill/waybill/gateway/sandbox"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/checkpoint"
	"github.com/waybill/waybill/ledger/feed"
	"github.com/waybill/waybill/ledger/natsbus"
	"github.com/waybill/waybill/ledger/postgres"
	"github.com/waybill/waybill/ledger/spool"
	"github.com/waybill/waybill/projections/usage"
)

const (
	// drainTime is how long requests in flight may take to end after SIGTERM.
	drainTime = 7 * time.Second
	// cutTime is how long their clients may then take to be told that they are cut
	// off.
	cutTime = 500 * time.Millisecond
	// closeTime is what is left for the ledger after that.
	closeTime = 1500 * time.Millisecond
)

// service is a running gateway: everything that start opened and stop closes.
type service struct {
	*std
	source *source
	log    *slog.Logger

	config      *config.Config
	prices      atomic.Pointer[usage.Prices] // of the configuration, for whoever asks meanwhile
	credentials credentials
	upstream    *sandbox.Upstream // nil unless it is the sandbox
	spool       *spool.Spool
	ledger      *ledger.Log
	bus         *natsbus.Bus // nil unless the replicas are woken by NATS
	ledgerNote  string       // what people should know of it, "" when nothing
	engine      *engine.Engine
	gateway     *gateway.Gateway
	poller      *quota.Poller
	metrics     *metrics
	otlp        *metric.MeterProvider // nil unless the environment names a collector
	api         *admin.API
	console     *console.Console
	changes     *changes
	feeds       []*feed.Relay
	tellers     []teller // of this process's own alerts
	checkpoints *checkpoint.Keeper
	retention   *retention
	store       ledger.Store // of the ledger
	snapshots   *views.Keeper
	stopping    atomic.Bool
	enrolled    atomic.Bool // the accounts are in the ledger: a new credential has to be recorded
	data, admin *listener
	background  sync.WaitGroup
	life        context.Context    // of the background
	end         context.CancelFunc // ends it
	failed      chan error         // a listener that ended by itself
}

// start opens everything in the order in which it depends on each other: the
// configuration, the ledger's lock, the ports, the engine, the handlers.
func (s *service) start(ctx context.Context) error {
	s.failed = make(chan error, 2)
	for _, step := range []func(context.Context) error{
		s.expectChanges, s.startSandbox, s.loadConfig, s.openSpool, s.openLedger, s.bind, s.openPoller, s.openEngine, s.openGateway, s.openCheckpoints, s.openOTLP, s.openRetention, s.serveAdmin, s.openFeeds, s.serveData,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.renewCredentials(nil, s.credentials)
	s.background.Go(func() { s.poller.Run(s.life) })
	s.background.Go(func() { s.followChanges(s.life) })
	s.background.Go(func() { s.checkpoints.Run(s.life) })
	s.background.Go(func() { s.retention.run(s.life) })
	s.snapshots = views.NewKeeper(s.ledger, views.Every, s.log)
	s.background.Go(func() { s.snapshots.Run(s.life) })
	s.runFeeds()
	if s.upstream != nil {
		s.background.Go(func() { s.playSandbox(s.life) })
	}
	return nil
}

func (s *service) loadConfig(ctx context.Context) (err error) {
	if s.config, err = s.source.load(); err != nil {
		return err
	}
	if s.credentials, err = s.credentialsOf(ctx, s.config, nil); err != nil {
		return usageError(err)
	}
	s.prices.Store(s.config.PriceTable)
	return nil
}

func (s *service) openPoller(context.Context) error {
	targets, err := quotaTargets(s.config, s.credentials)
	if err != nil {
		return usageError(err)
	}
	s.poller = s.newPoller()
	s.poller.Adopt(targets)
	return nil
}

func (s *service) openLedger(ctx context.Context) error {
	store, err := openStore(ctx, s.source.Env.Ledger, s.source.Env, s.config.Ledger)
	if errors.Is(err, ledger.ErrUnavailable) {
		store, err = s.awaitStore(ctx, err)
	}
	if err != nil {
		return err
	}
	if s.bus, err = openBus(store, s.source.Env); err != nil {
		return errors.Join(err, store.Close())
	}
	o := ledger.Options{}
	if s.bus != nil {
		o.Bus = s.bus
	}
	s.store = whole(store, s.config.Ledger.ArchiveDir)
	s.ledger = ledger.OpenWith(s.store, o)
	if p, ok := store.(*postgres.Store); ok {
		s.ledgerNote = p.Roles().Detail
	}
	return nil
}

func (s *service) bind(ctx context.Context) (err error) {
	if s.data, err = listenOn(ctx, "WAYBILL_LISTEN", s.source.Env.Listen); err != nil || s.admin != nil {
		return err
	}
	s.admin, err = listenOn(ctx, "WAYBILL_ADMIN_LISTEN", s.source.Env.AdminListen)
	return err
}

func (s *service) openEngine(ctx context.Context) (err error) {
	s.metrics = newMetrics()
	s.engine, err = engine.Open(ctx, engine.Options{
		Log: s.ledger, Spool: s.spool, Accounts: s.config.Enrolments(s.credentials.epoch), Document: s.config.Document(),
		Relaxed: s.config.Env.Durability == "relaxed", Version: version(), Config: s.config.Digest(),
		Observe: s.metrics, Wanted: s.poller.Nudge, Logger: s.log,
	})
	if err != nil {
		return ledgerError(fmt.Errorf("open engine: %w", err))
	}
	s.metrics.watch(s.engine, s.ledger)
	return nil
}

func (s *service) openGateway(context.Context) (err error) {
	s.gateway, err = gateway.New(gateway.Options{Engine: s.engine, Logger: s.log, Done: s.metrics.request},
		gatewayConfig(s.config, s.credentials))
	if err != nil {
		return usageError(err)
	}
	return nil
}

func (s *service) serveData(context.Context) error {
	s.data.serve(s.gateway, s.failed)
	return nil
}

// wait returns when the process is told to stop, a listener gives up, or the
// ledger is broken, which is its error.
func (s *service) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		s.log.Info("stopping; requests in flight may end", "within", drainTime)
	case err := <-s.failed:
		s.log.Error("a listener ended", "error", err)
	case <-s.engine.Broken():
		err := s.engine.LedgerError()
		s.tellBroken(err)
		return ledgerError(err)
	}
	return nil
}

// stop drains: no new connection, requests in flight end, what they did is
// committed, the ledger is closed. It works on whatever start has opened.
func (s *service) stop() error {
	s.stopping.Store(true)
	if s.changes != nil {
		s.changes.stop()
	}
	if s.end != nil {
		s.end()
		s.background.Wait()
	}
	var errs []error
	if s.data != nil {
		errs = append(errs, s.data.drain(drainTime))
	}
	s.lastMetrics()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if s.gateway != nil {
		s.gateway.Close()
	}
	if s.upstream != nil {
		errs = append(errs, s.upstream.Close(ctx))
	}
	if s.engine != nil {
		errs = append(errs, s.engine.Close(ctx))
	}
	if s.api != nil {
		s.api.Close()
	}
	if s.console != nil {
		s.console.Close()
	}
	if s.admin != nil {
		errs = append(errs, s.admin.drain(100*time.Millisecond))
	}
	if s.spool != nil {
		errs = append(errs, s.spool.Close())
	}
	if s.ledger != nil {
		s.lastCheckpoint(ctx)
		s.lastSnapshot(ctx)
		errs = append(errs, s.closeLedger())
	}
	if s.bus != nil {
		errs = append(errs, s.bus.Close())
	}
	return errors.Join(errs...)
}

// closeLedger does not wait for a database that hangs: what it owes an answer
// for is in the spool.
func (s *service) closeLedger() error {
	closed := make(chan error, 1)
	go func() { closed <- s.ledger.Close() }()
	limit := time.NewTimer(2 * closeTime)
	defer limit.Stop()
	select {
	case err := <-closed:
		return err
	case <-limit.C:
		s.log.Warn("the ledger does not answer; its connections are left to it")
		return nil
	}
}

// lastSnapshot stores the views, so that the next start folds nothing. Without
// it that takes longer, and nothing else.
func (s *service) lastSnapshot(ctx context.Context) {
	if s.snapshots == nil {
		return
	}
	if err := s.snapshots.Finish(ctx); err != nil {
		s.log.Warn("no snapshot was stored", "error", err)
	}
}

// listener is one port and the server on it.
type listener struct {
	net.Listener
	server  *http.Server
	handler atomic.Pointer[http.Handler]
	open    sync.WaitGroup          // requests being answered
	cut     context.CancelCauseFunc // ends their contexts
}

// listenOn listens on an address that setting names.
func listenOn(ctx context.Context, setting, addr string) (*listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, usageError(fmt.Errorf("listen: %w; is another gateway running? %s names another address", err, setting))
	}
	return &listener{Listener: l}, nil
}

// serve answers with a handler, in place of the one before.
func (l *listener) serve(h http.Handler, failed chan<- error) {
	if l.handler.Swap(&h) != nil {
		return
	}
	base, cut := context.WithCancelCause(context.Background())
	l.cut = cut
	l.server = &http.Server{
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 256 << 10,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			l.open.Add(1)
			defer l.open.Done()
			(*l.handler.Load()).ServeHTTP(w, r)
		}),
	}
	go func() {
		if err := l.server.Serve(l.Listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
}

// drain ends the listener. Requests that take longer are told to end, which is
// an answer or an error event for their clients; then their connections are cut.
// Handlers are waited for, so that what they record is recorded.
func (l *listener) drain(d time.Duration) error {
	if l.server == nil {
		return l.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if err := l.server.Shutdown(ctx); err == nil {
		return nil
	}
	l.cut(gateway.ErrStopping)
	ctx, end := context.WithTimeout(context.Background(), cutTime)
	defer end()
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close() // Shutdown has said why
		l.open.Wait()
	}
	return nil
}
