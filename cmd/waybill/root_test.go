package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/waybill/waybill/ledger"
)

// shell runs the command line and returns what a shell would see.
func shell(t *testing.T, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, env, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func TestVersionPrintsTheBinarysName(t *testing.T) {
	code, out, errs := shell(t, nil, "version")
	if code != exitFine || !strings.HasPrefix(out, "waybill ") || errs != "" {
		t.Fatalf("code %d, out %q, err %q", code, out, errs)
	}
}

func TestAWrongCommandLineIsExitTwo(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown command":   {"frobnicate"},
		"unknown flag":      {"version", "--frobnicate"},
		"too many argument": {"version", "one"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := shell(t, nil, args...)
			if code != exitUsage || errs == "" {
				t.Fatalf("code %d, err %q", code, errs)
			}
		})
	}
}

func TestErrorsMapToTheContractsExitCodes(t *testing.T) {
	rows := []struct {
		err  error
		want int
	}{
		{nil, exitFine},
		{errQuiet, exitCheckFailed},
		{errors.New("something else"), exitCheckFailed},
		{usageError(errors.New("wrong flag")), exitUsage},
		{fmt.Errorf("open ledger: %w", ledger.ErrNotFound), exitLedger},
		{fmt.Errorf("open ledger: %w", ledger.ErrLocked), exitLedger},
		{fmt.Errorf("read: %w", ledger.ErrUnavailable), exitLedger},
		{ledgerError(context.DeadlineExceeded), exitLedger},
	}
	for _, r := range rows {
		if got := exitCode(r.err); got != r.want {
			t.Errorf("%v: exit %d, want %d", r.err, got, r.want)
		}
	}
}

func TestEveryCommandHasAShortDescription(t *testing.T) {
	for _, c := range newRoot(&std{}).Commands() {
		if c.Short == "" {
			t.Errorf("%s has none", c.Name())
		}
	}
}
