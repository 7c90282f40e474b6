package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/ledger/checkpoint"
)

// keysNewCommand makes a client key. It is printed once and kept nowhere.
type keysNewCommand struct{ id string }

func (c *keysNewCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{Use: "new", Short: "Print a new client key once, and the line for the config", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&c.id, "id", "app", "the client's id in the printed line")
	return cmd
}

// Run implements command.
func (c *keysNewCommand) Run(_ context.Context, s *std, _ []string) error {
	var b [32]byte
	rand.Read(b[:]) // never fails since Go 1.24: it crashes the program instead
	key := "wb-" + base64.RawURLEncoding.EncodeToString(b[:])
	digest := sha256.Sum256([]byte(key))
	if s.json {
		return printJSON(s.out, map[string]string{"id": c.id, "key": key, "key_sha256": hex.EncodeToString(digest[:])})
	}
	_, err := fmt.Fprintf(s.out, "key, shown this once: %s\n\nfor the config:\nclients:\n  - {id: %s, key_sha256: %s}\n", key, c.id, hex.EncodeToString(digest[:]))
	return err
}

// keysCheckpointCommand shows what others verify this gateway's checkpoints with.
type keysCheckpointCommand struct{}

func (*keysCheckpointCommand) cobra() *cobra.Command {
	return &cobra.Command{
		Use: "checkpoint", Short: "Print the verifier key of this gateway's checkpoints, made when there is none yet", Args: cobra.NoArgs,
	}
}

// Run implements command.
func (*keysCheckpointCommand) Run(_ context.Context, s *std, _ []string) error {
	path, err := checkpointKey(s)
	if err != nil {
		return err
	}
	k, err := checkpoint.OpenKey(path)
	if err != nil {
		return usageError(err)
	}
	if s.json {
		return printJSON(s.out, map[string]string{"key": k.Verifier(), "file": path})
	}
	_, err = fmt.Fprintln(s.out, k.Verifier())
	return err
}
