package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/checkpoint"
	"github.com/waybill/waybill/projections/story"
)

// placesOf is where a configuration keeps checkpoints and their key: beside an
// embedded ledger, else beside the spool, which is this replica's own.
func placesOf(l config.Ledger, e config.Environment) (dir, key string, err error) {
	dir, key = l.CheckpointDir, l.CheckpointKey
	if dir == "" {
		if dir, err = besideLedger(e, "checkpoints"); err != nil {
			return "", "", usageError(err)
		}
	}
	if key == "" {
		key = filepath.Join(dir, "key")
	}
	return dir, key, nil
}

// besideLedger is a place for what this replica keeps in files.
func besideLedger(e config.Environment, name string) (string, error) {
	where := e.Ledger
	if shared(where) {
		where = e.Spool
	}
	path, err := ledgerPath(where)
	return filepath.Join(filepath.Dir(path), name), err
}

// ledgerSettings is what the configuration says of the ledger, for a command.
func ledgerSettings(s *std) (config.Ledger, config.Environment, error) {
	src, _, err := findSource(s, false)
	if err != nil {
		return config.Ledger{}, config.Environment{}, err
	}
	c, err := src.settings()
	if err != nil {
		return config.Ledger{}, config.Environment{}, err
	}
	return c.Ledger, c.Env, nil
}

// checkpointKey is the file of this gateway's key, for a command.
func checkpointKey(s *std) (string, error) {
	l, e, err := ledgerSettings(s)
	if err != nil {
		return "", err
	}
	_, key, err := placesOf(l, e)
	return key, err
}

// ownKey is the key that this gateway signs with, made when there is none.
func ownKey(l config.Ledger, e config.Environment) (*checkpoint.Key, error) {
	_, path, err := placesOf(l, e)
	if err != nil {
		return nil, err
	}
	key, err := checkpoint.OpenKey(path)
	if err != nil {
		return nil, usageError(err)
	}
	return key, nil
}

// openCheckpoints goes on after the latest checkpoint, and looks at once
// whether the ledger still holds it.
func (s *service) openCheckpoints(ctx context.Context) error {
	dir, _, err := placesOf(s.config.Ledger, s.source.Env)
	if err != nil {
		return err
	}
	key, err := ownKey(s.config.Ledger, s.source.Env)
	if err != nil {
		return err
	}
	s.checkpoints, err = checkpoint.NewKeeper(checkpoint.Options{
		Store: s.ledger, Key: key, Dir: dir, Interval: s.config.Ledger.CheckpointInterval, Now: s.now, Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.metrics.registry.MustRegister(checkpointGauges(s.checkpoints))
	_ = s.checkpoints.Take(ctx) // Run tries again, and tells
	return nil
}

// lastCheckpoint covers what was appended until the end.
func (s *service) lastCheckpoint(ctx context.Context) {
	if s.checkpoints == nil {
		return
	}
	if err := s.checkpoints.Take(ctx); err != nil {
		s.log.Error("no last checkpoint of the ledger was taken", "error", err)
	}
}

// expectation is what a ledger must still hold.
type expectation struct {
	ledger uuid.UUID // nil: any
	heads  []ledger.Head
}

// expected reads --checkpoint: POSITION:HASH, or a file of notes, each signed
// with the key.
func expected(s *std, text, key string) (x expectation, err error) {
	if text == "" {
		return x, nil
	}
	list, err := os.ReadFile(text)
	if errors.Is(err, fs.ErrNotExist) && strings.Contains(text, ":") {
		h, err := headOf(text)
		return expectation{heads: []ledger.Head{h}}, err
	}
	if err != nil {
		return x, usageError(fmt.Errorf("checkpoint: %w; give a file of signed checkpoints, or POSITION:HASH", err))
	}
	v, err := verifierOf(s, key)
	if err != nil {
		return x, usageError(err)
	}
	notes := checkpoint.Split(list)
	if len(notes) == 0 {
		return x, usageError(fmt.Errorf("checkpoint %s: %w", text, checkpoint.ErrMalformed))
	}
	for i, msg := range notes {
		c, err := checkpoint.Open(msg, v)
		if errors.Is(err, checkpoint.ErrOtherKey) {
			err = fmt.Errorf("%w; give its public key with --key, as `waybill keys checkpoint` prints it where it was signed", err)
		}
		if err != nil {
			return x, fmt.Errorf("checkpoint %d of %s: %w", i+1, text, err)
		}
		if x.ledger != uuid.Nil && c.Ledger != x.ledger {
			return x, fmt.Errorf("checkpoint %d of %s is of ledger %s, the one before it of %s", i+1, text, c.Ledger, x.ledger)
		}
		x.ledger, x.heads = c.Ledger, append(x.heads, c.Head)
	}
	return x, nil
}

// verifierOf reads --key: the key itself, or a file with it; without either,
// this gateway's own.
func verifierOf(s *std, key string) (note.Verifier, error) {
	if key == "" {
		path, err := checkpointKey(s)
		if err != nil {
			return nil, err
		}
		k, err := checkpoint.ReadKey(path)
		if err != nil {
			return nil, fmt.Errorf("give --key, as `waybill keys checkpoint` prints it: %w", err)
		}
		key = k.Verifier()
	} else if b, err := os.ReadFile(key); err == nil {
		key = strings.TrimSpace(string(b))
	}
	v, err := note.NewVerifier(key)
	if err != nil {
		return nil, fmt.Errorf("--key: %w; give what `waybill keys checkpoint` prints", err)
	}
	return v, nil
}

// headOf reads POSITION:HASH.
func headOf(text string) (h ledger.Head, err error) {
	position, hash, _ := strings.Cut(text, ":")
	if len(hash) != 2*len(h.Hash) {
		return h, usageError(fmt.Errorf("checkpoint %q: want 64 hex digits behind the colon, as `waybill verify` prints them, not %d", text, len(hash)))
	}
	n, err := strconv.ParseUint(position, 10, 63)
	b, hexErr := hex.DecodeString(hash)
	if err != nil || hexErr != nil || len(b) != len(h.Hash) || n == 0 {
		return h, usageError(fmt.Errorf("checkpoint %q: want POSITION:HASH, as `waybill verify` prints them, or a file of signed ones", text))
	}
	h.Position = events.Position(n)
	copy(h.Hash[:], b)
	return h, nil
}

// checkpointGauges are read off the keeper.
func checkpointGauges(k *checkpoint.Keeper) *gauges {
	const position, sound = "waybill_ledger_checkpoint_position", "waybill_ledger_checkpoint_sound"
	return newGauges(func(tell tellGauge) {
		st := k.State()
		tell(position, float64(st.Head.Position))
		tell(sound, oneIf(st.Fault == nil))
	},
		series{name: position, help: "Position of the latest signed checkpoint."},
		series{name: sound, help: "1 while the ledger holds its latest checkpoint and new ones can be kept."})
}

// checkpointNote is for /readyz: a fault of the ledger stops no traffic, it is
// told.
func checkpointNote(k *checkpoint.Keeper, now time.Time) string {
	st := k.State()
	switch {
	case st.Fault != nil:
		return "NO LONGER SOUND: " + st.Fault.Error()
	case st.Note == nil:
		return "none yet"
	}
	return fmt.Sprintf("position %d, %s ago", st.Head.Position, story.Span(now.Sub(st.Head.RecordedAt.Std())))
}
