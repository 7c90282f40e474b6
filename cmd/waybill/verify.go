package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
)

// verifyCommand proves a ledger.
type verifyCommand struct {
	reading
	from       uint64
	checkpoint string
	key        string
	cert       string
}

func (c *verifyCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove the ledger: chain, gaps, decodability, every decision derived again",
		Args:  cobra.NoArgs,
	}
	c.bind(cmd)
	cmd.Flags().Uint64Var(&c.from, "from", 1, "count positions and derive decisions from here on (the chain is walked from the start)")
	cmd.Flags().StringVar(&c.checkpoint, "checkpoint", "", "file of signed checkpoints, or POSITION:HASH, kept elsewhere: what they say must still hold")
	cmd.Flags().StringVar(&c.key, "key", "", "verifier key of the checkpoints, or a file that holds it (default: this gateway's own)")
	cmd.Flags().StringVar(&c.cert, "certificate", "", "file to write what was checked to, found right or not")
	return cmd
}

// Run implements command.
func (c *verifyCommand) Run(ctx context.Context, s *std, _ []string) error {
	if err := certifiable(c.cert); err != nil {
		return err
	}
	seen, err := expected(s, c.checkpoint, c.key)
	if err != nil {
		return err
	}
	log, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	o := inquiry.VerifyOptions{From: events.Position(c.from), Ledger: seen.ledger, Checkpoints: seen.heads, Progress: newProgress(s).tell}
	v, err := inquiry.Verify(ctx, log, o)
	if err != nil {
		return err
	}
	if c.from > uint64(v.Head.Position)+1 {
		return usageError(fmt.Errorf("--from %d is beyond the head, %d", c.from, v.Head.Position))
	}
	if c.cert != "" {
		if err := writeCertificate(c.cert, &v, s.now()); err != nil {
			return err
		}
	}
	if s.json {
		err = printJSON(s.out, &v)
	} else {
		colour := good
		if !v.OK {
			colour = bad
		}
		_, err = fmt.Fprintf(s.out, "%s\nhead %d:%s\n", paintOf(s).in(colour, v.Sentence()), v.Head.Position, v.Head.Hash)
	}
	if err == nil && !v.OK {
		err = errQuiet
	}
	return err
}
