package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/console"
	"github.com/waybill/waybill/ledger/spool"
)

// maxLag is how many committed events the views may lack while they count as
// caught up.
const maxLag = 1000

// headTime bounds the question where the ledger's head is.
const headTime = 2 * time.Second

// serveAdmin serves the admin API, readiness, metrics and the console.
func (s *service) serveAdmin(context.Context) error {
	host, _, err := net.SplitHostPort(s.source.Env.AdminListen)
	if err != nil {
		return usageError(err)
	}
	books, err := booksOf(s.ledger, s.source.Env)
	if err != nil {
		return err
	}
	s.api = admin.New(admin.Options{
		Engine: s.engine, Log: s.ledger, Token: s.source.Env.AdminToken.Reveal(), Hosts: []string{host}, Version: version(),
		About: admin.About{DataPlane: s.dataURL(), Ledger: redactURL(s.source.Env.Ledger), Sandbox: s.upstream != nil},
		Ready: s.ready, Checkpoint: s.checkpoints.State, Retention: s.retention.state, Books: books, Prices: s.prices.Load, Spool: s.spoolState,
		Logger: s.log, Metrics: s.metrics.handler(s.source.Env),
	})
	if s.console, err = console.New(console.Options{API: s.api, Logger: s.log}); err != nil {
		return fmt.Errorf("open console: %w", err)
	}
	s.admin.serve(s.console, s.failed)
	return nil
}

// ready says whether the gateway should get traffic, and what is missing. It
// is public: no address, role or account is named in it.
func (s *service) ready(ctx context.Context) []admin.Check {
	ctx, cancel := context.WithTimeout(ctx, headTime)
	defer cancel()
	return []admin.Check{
		check("serving", s.serving()),
		s.ledgerCheck(),
		check("clock", s.engine.ClockError()),
		check("views", s.caughtUp(ctx)),
		s.busCheck(),
		s.spoolCheck(),
		{Name: "checkpoint", OK: true, Note: checkpointNote(s.checkpoints, s.now())},
		s.sizeCheck(ctx),
	}
}

// sizeCheck asks the ledger, which is not asked while it is away.
func (s *service) sizeCheck(ctx context.Context) admin.Check {
	c := admin.Check{Name: "size", OK: true, Note: "unknown while the ledger is away"}
	if _, away := s.engine.Outage(); !away {
		c.Note = s.retention.note(ctx)
	}
	return c
}

// ledgerCheck also says, without refusing traffic for it, when nothing but
// triggers keeps the application from changing what is stored.
func (s *service) ledgerCheck() admin.Check {
	o, away := s.engine.Outage()
	switch err := s.engine.LedgerError(); {
	case errors.Is(err, spool.ErrFull):
		return admin.Check{Name: "ledger", Note: "the spool is full (spool_max); new requests are refused until the ledger takes events again"}
	case err != nil:
		return admin.Check{Name: "ledger", Note: "it takes no events; the log says why"}
	case away:
		return admin.Check{Name: "ledger", OK: true, Note: spoolingNote(&o)}
	case s.ledgerNote != "":
		return admin.Check{Name: "ledger", OK: true, Note: "append-only is enforced by triggers only: one role does everything; `waybill doctor` names it"}
	}
	return admin.Check{Name: "ledger", OK: true}
}

// busCheck never refuses traffic: without wake-ups the replicas look by
// themselves.
func (s *service) busCheck() admin.Check {
	c := admin.Check{Name: "bus", OK: true}
	if err := s.ledger.Deaf(); err != nil {
		c.Note = "no wake-ups from other replicas; the log says why"
	}
	return c
}

func check(name string, err error) admin.Check {
	if err != nil {
		return admin.Check{Name: name, Note: err.Error()}
	}
	return admin.Check{Name: name, OK: true}
}

func (s *service) serving() error {
	if s.stopping.Load() {
		return fmt.Errorf("this process is stopping")
	}
	return nil
}

// caughtUp compares the views with the ledger's head. While it is away there
// is nothing to catch up with, whatever it holds by now.
func (s *service) caughtUp(ctx context.Context) error {
	if _, away := s.engine.Outage(); away {
		return nil
	}
	h, err := s.ledger.Head(ctx)
	if err != nil {
		return errors.New("the ledger's head cannot be read")
	}
	if at := s.engine.Position(); h.Position > at+maxLag {
		return fmt.Errorf("the views stand at %d of %d", at, h.Position)
	}
	return nil
}
