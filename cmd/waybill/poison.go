package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/feed"
)

// feedsCommand lists the feeds. It and its subcommands read and change what the
// feeds keep beside the ledger; a running gateway sees it within a second.
type feedsCommand struct{ reading }

func (c *feedsCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{Use: "feeds", Short: "Show each feed: how far it is, and what was not taken", Args: cobra.NoArgs}
	c.bind(cmd)
	return cmd
}

func (*feedsCommand) commands() []command { return []command{&poisonedCommand{}, &requeueCommand{}} }

// Run implements command.
func (c *feedsCommand) Run(ctx context.Context, s *std, _ []string) error {
	return c.books(s, func(log *ledger.Log, books ledger.Books) error {
		all, err := inquiry.Feeds(ctx, log, books)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, all)
		}
		t := table{paint: paintOf(s)}
		t.head("FEED", "POSITION", "LAG", "POISONED", "REQUEUED")
		for _, f := range all {
			t.row(cell{f.Name, bold}, plain(fmt.Sprint(uint64(f.Position))), plain(fmt.Sprint(f.Lag)), cell{strconv.Itoa(f.Poisoned), poisonColour(f.Poisoned)}, plain(strconv.Itoa(f.Requeued)))
		}
		if err := t.write(s.out); err != nil {
			return err
		}
		for _, f := range all {
			if f.Error != "" {
				fmt.Fprintf(s.out, "%s: %s\n", f.Name, f.Error)
			}
		}
		return nil
	})
}

func poisonColour(n int) string {
	if n > 0 {
		return bad
	}
	return ""
}

// books runs fn on the books of the ledger that is meant.
func (r *reading) books(s *std, fn func(log *ledger.Log, books ledger.Books) error) (err error) {
	log, err := r.open(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	where, err := r.place(s)
	if err != nil {
		return err
	}
	books, err := booksOf(log, config.Environment{Ledger: where})
	if err != nil {
		return err
	}
	return fn(log, books)
}

// poisonedCommand lists what one feed's consumer did not take.
type poisonedCommand struct{ reading }

func (c *poisonedCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{Use: "poisoned FEED", Short: "List the messages that a feed's consumer did not take", Args: cobra.ExactArgs(1)}
	c.bind(cmd)
	return cmd
}

// Run implements command.
func (c *poisonedCommand) Run(ctx context.Context, s *std, args []string) error {
	return c.books(s, func(_ *ledger.Log, books ledger.Books) error {
		aside, err := inquiry.Poisoned(ctx, books, args[0])
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, append([]ledger.Message{}, aside...))
		}
		t := table{paint: paintOf(s)}
		t.head("MESSAGE", "POSITION", "TYPE", "REQUEUED", "ERROR")
		for i := range aside {
			m := &aside[i]
			t.row(plain(m.ID.String()), plain(fmt.Sprint(uint64(m.Position))), plain(m.Meta[feed.MetaType]), plain(strconv.FormatBool(m.Requeued)), plain(m.Error))
		}
		return t.write(s.out)
	})
}

// requeueCommand has messages delivered again.
type requeueCommand struct{ reading }

func (c *requeueCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{Use: "requeue FEED [MESSAGE...]", Short: "Have messages that were not taken delivered again; all without an id", Args: cobra.MinimumNArgs(1)}
	c.bind(cmd)
	return cmd
}

// Run implements command.
func (c *requeueCommand) Run(ctx context.Context, s *std, args []string) error {
	ids := make([]uuid.UUID, len(args)-1)
	for i, text := range args[1:] {
		var err error
		if ids[i], err = uuid.Parse(text); err != nil {
			return usageError(fmt.Errorf("%q is no id of a message; `waybill feeds poisoned %s` lists them", text, args[0]))
		}
	}
	return c.books(s, func(_ *ledger.Log, books ledger.Books) error {
		n, err := inquiry.Requeue(ctx, books, args[0], ids...)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, map[string]int{"requeued": n})
		}
		_, err = fmt.Fprintf(s.out, "%d requeued; a running gateway delivers them within a second or two\n", n)
		return err
	})
}
