package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
)

// reading is what every command has that only reads a ledger.
type reading struct {
	ledger   string   // --ledger, "" when it was not given
	archives []string // --archive
}

func (r *reading) bind(c *cobra.Command) {
	ledgerFlag(c, &r.ledger, "ledger to read")
	c.Flags().StringArrayVar(&r.archives, "archive", nil, "directory with archives of the ledger, when they are not where they were written")
}

// place is the ledger that is meant: --ledger, else the environment's.
func (r *reading) place(s *std) (string, error) {
	if r.ledger != "" {
		return r.ledger, nil
	}
	e, _, err := config.ReadEnvironment(s.env)
	if err != nil {
		return "", usageError(err)
	}
	return e.Ledger, nil
}

// openStore opens the ledger for reading: it never creates one, and works
// beside a running gateway, without one, and on a copy.
func (r *reading) openStore(s *std) (ledger.Store, error) {
	where, err := r.place(s)
	if err != nil {
		return nil, err
	}
	store, err := openReader(where)
	if err != nil {
		return nil, err
	}
	return whole(store, r.archives...), nil
}

// open is openStore as a log.
func (r *reading) open(s *std) (*ledger.Log, error) {
	store, err := r.openStore(s)
	if err != nil {
		return nil, err
	}
	return ledger.Open(store), nil
}

// when is inquiry.When, whose error is one of usage.
func when(text string, now time.Time) (events.Time, error) {
	t, err := inquiry.When(text, events.At(now))
	if err != nil {
		return 0, usageError(err)
	}
	return t, nil
}

// progress tells on a terminal how far a long fold is.
type progress struct {
	out  io.Writer
	last int64
}

func newProgress(s *std) *progress {
	if _, term := columns(s.err); s.json || !term {
		return nil
	}
	return &progress{out: s.err, last: -1}
}

func (p *progress) tell(done, head events.Position) {
	if p == nil || head == 0 {
		return
	}
	if pc := int64(100 * done / head); pc != p.last {
		p.last = pc
		end := ""
		if done == head {
			end = "\r\x1b[K"
		}
		fmt.Fprintf(p.out, "\r%3d %%  %d of %d%s", pc, done, head, end)
	}
}
