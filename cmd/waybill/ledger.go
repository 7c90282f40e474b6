package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/ledger/natsbus"
	"github.com/waybill/waybill/ledger/postgres"
	"github.com/waybill/waybill/ledger/sqlite"
)

// ledgerTime bounds the opening of a ledger that is on another machine.
const ledgerTime = 30 * time.Second

// shared says that a ledger is one that many replicas append to.
func shared(where string) bool {
	return strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")
}

// openStore opens a ledger for writing, and makes it when it is not there.
func openStore(ctx context.Context, where string, e config.Environment, l config.Ledger) (ledger.Store, error) {
	if shared(where) {
		ctx, cancel := context.WithTimeout(ctx, ledgerTime)
		defer cancel()
		s, err := postgres.Open(ctx, postgres.Options{
			URL: where, Owner: e.LedgerOwner.Reveal(), RequireRoles: l.RequireRoles, Segment: events.Position(l.Segment), Silent: e.Bus != config.BusPostgres,
		})
		if errors.Is(err, postgres.ErrRoles) {
			return nil, usageError(fmt.Errorf("%w; give WAYBILL_LEDGER a role of its own and name the owner in WAYBILL_LEDGER_OWNER", err))
		}
		if err != nil {
			return nil, ledgerError(privileged(err))
		}
		return s, nil
	}
	path, err := ledgerPath(where)
	if err != nil {
		return nil, usageError(err)
	}
	s, err := sqlite.Open(path)
	switch {
	case errors.Is(err, ledger.ErrLocked):
		return nil, ledgerError(fmt.Errorf("%w; stop it, or give this one another WAYBILL_LEDGER", err))
	case err != nil:
		return nil, ledgerError(err)
	}
	return s, nil
}

// privileged says which role makes and migrates a ledger, where one may not.
func privileged(err error) error {
	if errors.Is(err, postgres.ErrPermission) {
		return fmt.Errorf("%w; WAYBILL_LEDGER_OWNER names the role that owns the schema, makes it and gives WAYBILL_LEDGER's what it needs (docs/ledger.md, Roles)", err)
	}
	return err
}

// whole is a store together with the archives of what left it: in these
// directories, and where they were written.
func whole(s ledger.Store, dirs ...string) ledger.Store {
	return archive.Over(s, archive.NewPast(slices.DeleteFunc(dirs, func(d string) bool { return d == "" })...))
}

// openBus opens what wakes the replicas of a ledger besides its own store; nil
// when nothing does.
func openBus(store ledger.Store, e config.Environment) (*natsbus.Bus, error) {
	p, ok := store.(*postgres.Store)
	if !ok || !config.NATSBus(e.Bus) {
		return nil, nil
	}
	b, err := natsbus.Open(e.Bus, p.Name())
	if err != nil {
		return nil, usageError(err)
	}
	return b, nil
}

// openReader opens a ledger for reading and never makes one.
func openReader(where string) (ledger.Store, error) {
	if shared(where) {
		ctx, cancel := context.WithTimeout(context.Background(), ledgerTime)
		defer cancel()
		s, err := postgres.Open(ctx, postgres.Options{URL: where, ReadOnly: true})
		if err != nil {
			return nil, ledgerError(privileged(err))
		}
		return s, nil
	}
	path, err := ledgerPath(where)
	if err != nil {
		return nil, usageError(err)
	}
	s, err := sqlite.OpenReader(path)
	if err != nil {
		return nil, ledgerError(err)
	}
	return s, nil
}

// ledgerPath is the file of an embedded ledger: sqlite:PATH, sqlite://PATH, or
// a bare path.
func ledgerPath(where string) (string, error) {
	scheme, rest, found := strings.Cut(where, ":")
	switch {
	case found && scheme == "sqlite":
		where = strings.TrimPrefix(rest, "//")
	case found && strings.HasPrefix(rest, "//"):
		return "", fmt.Errorf("ledger %s is not known: write sqlite:PATH or postgres://host/database", redactURL(where))
	}
	if where == "" {
		return "", errors.New("the ledger has no name: write sqlite:PATH or postgres://host/database")
	}
	return where, nil
}

// redactURL hides the password of a URL.
func redactURL(name string) string {
	u, err := url.Parse(name)
	if err != nil {
		return "(unreadable)"
	}
	return u.Redacted()
}
