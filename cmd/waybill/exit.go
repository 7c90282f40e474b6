package main

import (
	"errors"

	"github.com/waybill/waybill/ledger"
)

// The exit codes of the contract.
const (
	exitFine        = 0
	exitCheckFailed = 1
	exitUsage       = 2
	exitLedger      = 3
)

// exitError carries the exit code that a command's error stands for.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usageError marks a wrong command line or configuration (exit 2).
func usageError(err error) error { return &exitError{exitUsage, err} }

// ledgerError marks a ledger that cannot be reached (exit 3).
func ledgerError(err error) error { return &exitError{exitLedger, err} }

// errQuiet ends a command with exit 1 after it has printed what it found.
var errQuiet = errors.New("check failed")

// exitCode is the process's exit code for a command's error.
func exitCode(err error) int {
	var coded *exitError
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrUnavailable), errors.Is(err, ledger.ErrLocked):
		return exitLedger
	}
	return exitCheckFailed
}
