package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
)

// Flags that several commands have: one name, one help, one reading.

// instantForms is how an instant may be written.
const instantForms = "2026-11-30T14:03:00Z, 14:03 or 10m (ago)"

// ledgerFlag binds --ledger; use says what the command does with it.
func ledgerFlag(c *cobra.Command, to *string, use string) {
	c.Flags().StringVar(to, "ledger", "", use+": sqlite:PATH, a path or postgres://... (default $WAYBILL_LEDGER)")
}

// adminFlag binds --admin, where a running gateway is asked.
func adminFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "admin", "", "admin API of a running gateway (default $WAYBILL_ADMIN_LISTEN)")
}

// asOf are the flags of what can be asked as it stood then.
type asOf struct {
	at       string
	position uint64
	of       *cobra.Command
}

func (a *asOf) bind(c *cobra.Command) {
	c.Flags().StringVar(&a.at, "at", "", "as of an instant: "+instantForms)
	c.Flags().Uint64Var(&a.position, "position", 0, "as of a position of the ledger")
	a.of = c
}

// moment is what the flags say; now and the head where they say nothing.
func (a *asOf) moment(s *std) (m inquiry.Moment, err error) {
	if a.at != "" && a.position != 0 {
		return m, usageError(errors.New("either --at or --position"))
	}
	if a.position == 0 && a.of.Flags().Changed("position") {
		return m, usageError(errors.New("--position 0: want 1 or more, the ledger begins there"))
	}
	m = inquiry.Moment{Position: events.Position(a.position), Now: events.At(s.now())}
	if m.Time, err = when(a.at, s.now()); err == nil && inquiry.Come(m.Time, m.Now) != nil {
		err = usageError(fmt.Errorf("--at %s: %w", a.at, inquiry.ErrFuture))
	}
	return m, err
}

// past is what every command has that asks how the ledger stood then.
type past struct {
	reading
	asOf
}

func (p *past) bind(c *cobra.Command) {
	p.reading.bind(c)
	p.asOf.bind(c)
}

// open opens the ledger and says which moment of it is meant.
func (p *past) open(s *std) (log *ledger.Log, m inquiry.Moment, err error) {
	if m, err = p.moment(s); err == nil {
		log, err = p.reading.open(s)
	}
	return log, m, err
}

// spanFlags are --since and --until: the time that a list or a sum is of.
type spanFlags struct{ since, until string }

// bind says with what the time is that of: "recorded", "started".
func (f *spanFlags) bind(c *cobra.Command, what string) {
	c.Flags().StringVar(&f.since, "since", "", what+" at or after: "+instantForms)
	c.Flags().StringVar(&f.until, "until", "", what+" before")
}

func (f *spanFlags) span(s *std) (since, until events.Time, err error) {
	if since, err = when(f.since, s.now()); err != nil {
		return 0, 0, err
	}
	if until, err = when(f.until, s.now()); err != nil {
		return 0, 0, err
	}
	if since != 0 && until != 0 && since >= until {
		return 0, 0, usageError(errors.New("--until is not after --since: nothing lies between them"))
	}
	return since, until, nil
}

// limited checks --limit.
func limited(n int) error {
	if n < 0 {
		return usageError(fmt.Errorf("--limit %d: want how many at most, or 0 for all", n))
	}
	return nil
}
