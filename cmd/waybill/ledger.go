package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/sqlite"
)

// openStore opens the ledger that WAYBILL_LEDGER names, for writing.
func openStore(name string) (ledger.Store, error) {
	path, err := sqlitePath(name)
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

// sqlitePath is the file of sqlite:PATH and sqlite://PATH.
func sqlitePath(name string) (string, error) {
	path, ok := strings.CutPrefix(name, "sqlite:")
	if !ok {
		return "", fmt.Errorf("WAYBILL_LEDGER %q is not known: write sqlite:PATH", redactURL(name))
	}
	path = strings.TrimPrefix(path, "//")
	if path == "" {
		return "", errors.New("WAYBILL_LEDGER names no file: write sqlite:PATH")
	}
	return path, nil
}

// redactURL hides the password of a URL.
func redactURL(name string) string {
	if u, err := url.Parse(name); err == nil {
		return u.Redacted()
	}
	return "(unreadable)"
}
