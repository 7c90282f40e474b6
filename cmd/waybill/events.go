package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/story"
)

// eventsCommand shows events as stored.
type eventsCommand struct {
	reading
	span                    spanFlags
	account, request, types string
	after                   uint64
	limit                   int
	follow                  bool
}

func (c *eventsCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{Use: "events", Short: "Show events as stored, and new ones as they come (--follow)", Args: cobra.NoArgs}
	c.bind(cmd)
	c.span.bind(cmd, "recorded")
	f := cmd.Flags()
	f.StringVar(&c.account, "account", "", "of this account")
	f.StringVar(&c.request, "request", "", "of this request")
	f.StringVar(&c.types, "type", "", "of these types, separated by commas")
	f.Uint64Var(&c.after, "after", 0, "after this position")
	f.IntVar(&c.limit, "limit", 0, "how many at most, 0 for all; without --after the newest ones")
	f.BoolVar(&c.follow, "follow", false, "go on with new events until interrupted (with --json: one line each)")
	return cmd
}

// Run implements command.
func (c *eventsCommand) Run(ctx context.Context, s *std, _ []string) error {
	f, err := c.filter(s)
	if err != nil {
		return err
	}
	log, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	p := &eventPrinter{out: s.out, paint: paintOf(s), json: s.json, lines: c.follow}
	last, err := c.stored(ctx, log, f, p)
	if err != nil {
		return err
	}
	if p.n == 0 && !c.follow {
		if err := tellUnknown(ctx, s, log, c.account); err != nil {
			return err
		}
	}
	if c.follow {
		err = log.Follow(ctx, last, func(got []events.Event) error { return p.all(got, &f) })
		if errors.Is(err, context.Canceled) {
			err = nil // that is how following ends
		}
	}
	return errors.Join(err, p.end())
}

func (c *eventsCommand) filter(s *std) (f ledger.Filter, err error) {
	if err := limited(c.limit); err != nil {
		return f, err
	}
	f.Account = c.account
	if c.request != "" {
		if f.Request, err = uuid.Parse(c.request); err != nil {
			return f, usageError(fmt.Errorf("request id %q: want a UUID", c.request))
		}
	}
	for _, name := range strings.FieldsFunc(c.types, func(r rune) bool { return r == ',' }) {
		k, ok := events.ParseKind(name)
		if !ok {
			return f, usageError(fmt.Errorf("type %q is not known; docs/events.md lists the types", name))
		}
		f.Kinds = append(f.Kinds, k)
	}
	if c.types != "" && len(f.Kinds) == 0 {
		return f, usageError(fmt.Errorf("--type %q names none; docs/events.md lists the types", c.types))
	}
	f.Since, f.Until, err = c.span.span(s)
	return f, err
}

// stored prints what is there, and returns the position up to which it looked.
func (c *eventsCommand) stored(ctx context.Context, log *ledger.Log, f ledger.Filter, p *eventPrinter) (events.Position, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	f.UpTo = head.Position
	after := events.Position(c.after)
	if c.limit <= 0 {
		return head.Position, log.Each(ctx, after, f, p.one)
	}
	if after != 0 {
		got, err := log.Read(ctx, after, f, c.limit)
		if err != nil {
			return 0, err
		}
		return head.Position, p.all(got, nil)
	}
	newest := make([]events.Event, 0, c.limit) // a ring
	n := 0
	err = log.Each(ctx, 0, f, func(e *events.Event) error {
		if n++; len(newest) < c.limit {
			newest = append(newest, *e)
		} else {
			newest[(n-1)%c.limit] = *e
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	start := 0
	if n > c.limit {
		start = n % c.limit
	}
	return head.Position, p.all(append(newest[start:len(newest):len(newest)], newest[:start]...), nil)
}

// eventPrinter prints events one after another: a line each, or one array.
type eventPrinter struct {
	out   io.Writer
	paint paint
	json  bool
	lines bool // JSON lines instead of an array
	n     int
}

func (p *eventPrinter) all(got []events.Event, f *ledger.Filter) error {
	for i := range got {
		if f != nil && !f.Match(&got[i]) {
			continue
		}
		if err := p.one(&got[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *eventPrinter) one(e *events.Event) error {
	p.n++
	switch {
	case p.json && p.lines:
		_, err := fmt.Fprintf(p.out, "%s\n", events.AppendJSON(nil, e))
		return err
	case p.json:
		lead := ",\n"
		if p.n == 1 {
			lead = "[\n"
		}
		_, err := fmt.Fprintf(p.out, "%s%s", lead, events.AppendJSON(nil, e))
		return err
	}
	account := e.Account
	if account == "" {
		account = "-"
	}
	_, err := fmt.Fprintf(p.out, "%s  %s  %-24s  %-16s  %s%s\n", p.paint.in(faint, fmt.Sprintf("%8d", e.Position)), clock(e.ObservedAt),
		e.Data.Kind(), p.paint.in(bold, account), story.Summary(e), requestOf(e, p.paint))
	return err
}

func requestOf(e *events.Event, p paint) string {
	if e.Request == uuid.Nil {
		return ""
	}
	return p.in(faint, "  request "+e.Request.String())
}

func (p *eventPrinter) end() error {
	if !p.json || p.lines {
		return nil
	}
	tail := "\n]\n"
	if p.n == 0 {
		tail = "[]\n"
	}
	_, err := io.WriteString(p.out, tail)
	return err
}
