package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/spool"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/projections/story"
)

// openSpool takes this process's spool.
func (s *service) openSpool(ctx context.Context) (err error) {
	s.spool, err = openSpool(ctx, s.source.Env, int64(s.config.SpoolMax))
	return err
}

func openSpool(ctx context.Context, e config.Environment, maxBytes int64) (*spool.Spool, error) {
	path, err := spoolPath(e)
	if err != nil {
		return nil, err
	}
	store, err := sqlite.OpenSpool(path)
	switch {
	case errors.Is(err, ledger.ErrLocked):
		return nil, ledgerError(fmt.Errorf("the outage spool is in use: %w; stop that gateway, or give this one another WAYBILL_SPOOL", err))
	case err != nil:
		return nil, ledgerError(fmt.Errorf("outage spool: %w", err))
	}
	sp, err := spool.Open(ctx, store, maxBytes)
	if err != nil {
		return nil, errors.Join(ledgerError(fmt.Errorf("%s: %w", path, err)), store.Close())
	}
	return sp, nil
}

// spoolPath is the file of the spool, which is never that of the ledger.
func spoolPath(e config.Environment) (string, error) {
	if shared(e.Spool) {
		return "", usageError(errors.New("WAYBILL_SPOOL is on this machine: name a file"))
	}
	path, err := ledgerPath(e.Spool)
	if err != nil || shared(e.Ledger) {
		return path, err
	}
	of, err := ledgerPath(e.Ledger)
	if err != nil {
		return "", usageError(err)
	}
	a, errA := filepath.Abs(path)
	b, errB := filepath.Abs(of)
	if err := errors.Join(errA, errB); err != nil {
		return "", err
	}
	if a == b {
		return "", usageError(fmt.Errorf("WAYBILL_SPOOL and WAYBILL_LEDGER both name %s: give the spool a file of its own", path))
	}
	return path, nil
}

// spoolingNote is for /readyz.
func spoolingNote(o *engine.Outage) string {
	return fmt.Sprintf("spooling since %s: %d events wait for the ledger, the spool takes %s of %s; the log says why",
		o.Since.Std().UTC().Format(time.RFC3339), o.Events, story.Bytes(o.Bytes), story.Bytes(o.Max))
}

// spoolCheck shows the bound. A spool that is full shows at the ledger, which
// is what nothing can be recorded in then.
func (s *service) spoolCheck() admin.Check {
	o, _ := s.engine.Outage()
	c := admin.Check{Name: "spool", OK: true, Note: story.Bytes(o.Bytes) + " of " + story.Bytes(o.Max)}
	if d := s.engine.Damaged(); d != nil {
		c.Note += fmt.Sprintf("; what the last run left was changed: %d events of it are not in the ledger and are kept aside, the log says where", d.Lost)
	}
	return c
}

// spoolState is what people are told of the spool.
func (s *service) spoolState() admin.Spool {
	o, _ := s.engine.Outage()
	return admin.Spool{Since: o.Since, Events: o.Events, Bytes: o.Bytes, Max: o.Max}
}

// doctorSpool says whether something waits for the ledger.
func doctorSpool(ctx context.Context, e config.Environment) symptom {
	f := symptom{What: "outage spool"}
	path, err := spoolPath(e)
	if err != nil {
		f.Note = err.Error()
		return f
	}
	if broken := sqlite.Broken(path); len(broken) > 0 {
		f.Note = strings.Join(broken, ", ") + ": set aside, since it was not what a gateway had written; `waybill events --ledger sqlite:FILE` shows it. What it holds from its fault on is in no ledger; move it away when you have seen to it"
		return f
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return symptom{What: f.What, OK: true, Note: path + " is empty: nothing waits for the ledger"}
	}
	r, err := sqlite.OpenReader(path)
	if err != nil {
		f.Note = err.Error()
		return f
	}
	defer r.Close()
	n, of, err := spool.Left(ctx, r)
	if err != nil {
		f.Note = fmt.Sprintf("%s: %v", path, err)
		return f
	}
	f.Note = fmt.Sprintf("%s holds %d events of ledger %s, which a gateway appends as soon as it is reachable", path, n, of)
	return f
}
