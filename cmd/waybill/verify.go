package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
)

// verifyCommand proves a ledger.
type verifyCommand struct {
	reading
	from       uint64
	checkpoint string
}

func (c *verifyCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove the ledger: chain, gaps, decodability, every decision derived again",
		Args:  cobra.NoArgs,
	}
	c.bind(cmd)
	cmd.Flags().Uint64Var(&c.from, "from", 1, "count positions and derive decisions from here on (the chain is walked from the start)")
	cmd.Flags().StringVar(&c.checkpoint, "checkpoint", "", "POSITION:HASH of a head seen earlier and kept elsewhere: it must still be there")
	return cmd
}

// checkpointOf reads POSITION:HASH.
func checkpointOf(text string) (h ledger.Head, err error) {
	if text == "" {
		return h, nil
	}
	position, hash, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(position, 10, 63)
	b, hexErr := hex.DecodeString(hash)
	if err != nil || hexErr != nil || len(b) != len(h.Hash) || n == 0 {
		return h, usageError(fmt.Errorf("checkpoint %q: want POSITION:HASH, as `waybill verify` prints them", text))
	}
	h.Position = events.Position(n)
	copy(h.Hash[:], b)
	return h, nil
}

// Run implements command.
func (c *verifyCommand) Run(ctx context.Context, s *std, _ []string) error {
	seen, err := checkpointOf(c.checkpoint)
	if err != nil {
		return err
	}
	log, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	v, err := inquiry.Verify(ctx, log, inquiry.VerifyOptions{From: events.Position(c.from), Checkpoint: seen, Progress: newProgress(s).tell})
	if err != nil {
		return err
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
