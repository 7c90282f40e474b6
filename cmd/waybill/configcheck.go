package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/credential"
	"github.com/waybill/waybill/projections/story"
)

// configCheckCommand reads the configuration as serve does, and changes nothing.
type configCheckCommand struct{}

func (*configCheckCommand) cobra() *cobra.Command {
	return &cobra.Command{Use: "check [FILE]", Short: "Read the configuration as serve does, and name every fault with its line", Args: cobra.MaximumNArgs(1)}
}

// checked is what config check found.
type checked struct {
	OK       bool          `json:"ok"`
	File     string        `json:"file"`
	Sandbox  bool          `json:"sandbox"`
	Accounts int           `json:"accounts"`
	Models   int           `json:"models"`
	Clients  int           `json:"clients"`
	Warnings []string      `json:"warnings"`
	Faults   config.Faults `json:"faults"`
}

// Run implements command.
func (*configCheckCommand) Run(_ context.Context, s *std, args []string) error {
	if len(args) > 0 {
		s.config = args[0]
	}
	found, err := checkConfig(s)
	if s.json {
		if printErr := printJSON(s.out, found); printErr != nil {
			return printErr
		}
		if err != nil {
			return usageError(errQuiet)
		}
		return nil
	}
	for _, w := range found.Warnings {
		fmt.Fprintln(s.err, "warning:", w)
	}
	if err != nil {
		return err
	}
	where := found.File
	if where == "" {
		where = "environment"
	}
	_, err = fmt.Fprintf(s.out, "%s: fine: %s, %s, %s\n", where, story.Count(found.Accounts, "account"), story.Count(found.Models, "model"), story.Count(found.Clients, "client"))
	return err
}

func checkConfig(s *std) (checked, error) {
	found := checked{Warnings: []string{}, Faults: config.Faults{}}
	src, warnings, err := findSource(s, false)
	if err == nil {
		found.File, found.Sandbox, found.Warnings = src.Path, src.sandbox, append(found.Warnings, warnings...)
		var c *config.Config
		if c, err = src.settings(); err == nil {
			if err := credentialFiles(c); err != nil {
				return found, err
			}
			found.OK, found.Accounts, found.Models, found.Clients = true, len(c.Accounts), len(c.Models), len(c.Clients)
			return found, nil
		}
	}
	var faults config.Faults
	if errors.As(err, &faults) {
		found.Faults = faults
	}
	return found, err
}

// credentialFiles reads what serve reads at start; a command is not run.
func credentialFiles(c *config.Config) error {
	for i := range c.Accounts {
		a := &c.Accounts[i]
		if _, err := credentialOf(a, credential.Options{Account: a.ID, Now: time.Now}); err != nil {
			return usageError(fmt.Errorf("account %q: %w", a.ID, err))
		}
	}
	return nil
}
