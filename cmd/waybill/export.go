package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/ledger/durable"
	"github.com/waybill/waybill/ledger/sqlite"
)

// exportCommand writes a ledger, or a part of it, as JSON Lines.
type exportCommand struct {
	reading
	from, to uint64
	out      string
}

func (c *exportCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the ledger as canonical JSON Lines, its chain checked",
		Long: "Writes events as canonical JSON Lines to standard output, or to a file with -o; a name that ends in\n" +
			".zst is compressed. `waybill import` rebuilds identical bytes from it.",
		Args: cobra.NoArgs,
	}
	c.bind(cmd)
	cmd.Flags().Uint64Var(&c.from, "from", 1, "first position")
	cmd.Flags().Uint64Var(&c.to, "to", 0, "last position, 0 for the head")
	cmd.Flags().StringVarP(&c.out, "output", "o", "", "file to write, compressed when its name ends in .zst")
	return cmd
}

// moved is what export and import print as JSON.
type moved struct {
	From  events.Position `json:"from"`
	To    events.Position `json:"to"`
	Known uint64          `json:"known"` // read, and there already
	Head  inquiry.Head    `json:"head"`
	File  string          `json:"file"`
}

func movedOf(s archive.Span, file string) moved {
	return moved{From: s.From, To: s.To, Known: s.Known, Head: inquiry.Head{Position: s.Head.Position, Hash: s.Head.Hash.String()}, File: file}
}

// Run implements command.
func (c *exportCommand) Run(ctx context.Context, s *std, _ []string) error {
	if c.to != 0 && c.from > c.to {
		return usageError(fmt.Errorf("--from %d lies behind --to %d: nothing is between them", c.from, c.to))
	}
	store, err := c.openStore(s)
	if err != nil {
		return err
	}
	defer store.Close()
	if c.out == "" {
		_, err := archive.Write(ctx, store, events.Position(c.from), events.Position(c.to), s.out, nil)
		return err
	}
	span, err := c.toFile(ctx, s, store)
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(s.out, movedOf(span, c.out))
	}
	_, err = fmt.Fprintf(s.out, "Positions %d to %d written to %s; the chain holds up to %s.\n", span.From, span.To, c.out, span.Head.Hash)
	return err
}

// toFile writes all or nothing: a broken export leaves no file.
func (c *exportCommand) toFile(ctx context.Context, s *std, store ledger.Store) (span archive.Span, err error) {
	p := newProgress(s)
	err = durable.Replace(c.out, 0o600, func(f *os.File) (err error) {
		span, err = c.write(ctx, store, f, func(at events.Position) { p.tell(at, events.Position(c.to)) })
		return err
	})
	return span, err
}

func (c *exportCommand) write(ctx context.Context, store ledger.Store, w io.Writer, p archive.Progress) (span archive.Span, err error) {
	from, to := events.Position(c.from), events.Position(c.to)
	if !strings.HasSuffix(c.out, ".zst") {
		return archive.Write(ctx, store, from, to, w, p)
	}
	z, err := archive.Compress(w)
	if err != nil {
		return span, err
	}
	span, err = archive.Write(ctx, store, from, to, z, p)
	return span, errors.Join(err, z.Close())
}

// importCommand appends an archive to a ledger.
type importCommand struct {
	reading
}

func (c *importCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Append an export to a ledger: identical bytes, no gap, no fork",
		Long: "Appends what `waybill export` wrote, plain or compressed (- is standard input). The ledger is made when\n" +
			"there is none. What it has already must be the same, what it lacks must follow without a gap, and the\n" +
			"chain must hold; else the import ends with exit code 1 at that position.",
		Args: cobra.ExactArgs(1),
	}
	ledgerFlag(cmd, &c.ledger, "ledger to append to")
	return cmd
}

// Run implements command.
func (c *importCommand) Run(ctx context.Context, s *std, args []string) error {
	in, err := input(s, args[0])
	if err != nil {
		return usageError(err)
	}
	defer in.Close()
	r, err := archive.Open(in)
	if err != nil {
		return err
	}
	defer r.Close()
	where, err := c.place(s)
	if err != nil {
		return err
	}
	e, _, err := config.ReadEnvironment(s.env)
	if err != nil {
		return usageError(err)
	}
	made := made(where)
	store, err := openStore(ctx, where, e, config.Ledger{})
	if err != nil {
		return err
	}
	span, err := archive.Read(ctx, whole(store), r, nil)
	h, headErr := store.Head(ctx)
	if closed := store.Close(); err != nil {
		if made != "" && headErr == nil && h.Position == 0 {
			_ = sqlite.Remove(made) // an empty ledger where there was none would pass for one
		}
		return errors.Join(err, closed)
	} else if closed != nil {
		return closed
	}
	if s.json {
		return printJSON(s.out, movedOf(span, args[0]))
	}
	_, err = fmt.Fprintf(s.out, "Positions %d to %d read, %d of them were there already; the chain holds up to %s.\n", span.From, span.To, span.Known, span.Head.Hash)
	return err
}

func input(s *std, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(s.in), nil
	}
	return os.Open(name)
}

// made is the file that opening the ledger will make, "" when it makes none.
func made(where string) string {
	path, err := ledgerPath(where)
	if shared(where) || err != nil {
		return ""
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return path
}
