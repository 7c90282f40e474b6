package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
)

// offlineSpool bounds what one call may leave in the spool.
const offlineSpool = 16 << 20

// offline makes a call of the admin API in this process, on a ledger that no
// gateway holds. It is the same handler that a gateway runs, and like a gateway it
// first appends what the last one left in the spool.
func offline(ctx context.Context, e config.Environment, account, path string, o operation) (out recorded, err error) {
	log, err := openExisting(ctx, e, account)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	sp, err := openSpool(ctx, e, offlineSpool)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, sp.Close()) }()
	eng, err := engine.Open(ctx, engine.Options{Log: log, Spool: sp, Keep: true, Version: version() + " (command line)"})
	if err != nil {
		return out, ledgerError(fmt.Errorf("open engine: %w", err))
	}
	defer func() { err = errors.Join(err, eng.Close(ctx)) }()
	l, err := listenOn(ctx, "the system", "127.0.0.1:0")
	if err != nil {
		return out, err
	}
	l.serve(admin.New(admin.Options{Engine: eng, Log: log, Version: version()}), make(chan error, 1))
	defer func() { err = errors.Join(err, l.drain(closeTime)) }()
	return running{url: "http://" + l.Addr().String()}.operate(ctx, path, o)
}

// openExisting opens a ledger for writing that is there already and knows the
// account: a call that cannot succeed must leave nothing in it.
func openExisting(ctx context.Context, e config.Environment, account string) (*ledger.Log, error) {
	r, err := openReader(e.Ledger)
	if err != nil {
		return nil, err
	}
	_, err = inquiry.Accounts(ctx, ledger.Open(r), inquiry.Moment{}, account, "")
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	store, err := openStore(ctx, e.Ledger, e, config.Ledger{})
	if err != nil {
		return nil, err
	}
	return ledger.Open(whole(store)), nil
}
