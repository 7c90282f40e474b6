package main

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/sqlite"
)

// openStore opens the ledger that WAYBILL_LEDGER names, for writing.
func openStore(name string) (ledger.Store, error) {
	path, err := ledgerPath(name)
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

// redactURL hides the password of a URL.
func redactURL(name string) string {
	if u, err := url.Parse(name); err == nil {
		return u.Redacted()
	}
	return "(unreadable)"
}
