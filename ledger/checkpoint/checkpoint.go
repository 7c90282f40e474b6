// Package checkpoint signs where a ledger stood, so that whoever holds an old
// checkpoint finds out when the ledger was rewritten or cut off, even by the
// database's owner, who could recompute every hash of the chain.
//
// A checkpoint is a signed note (golang.org/x/mod/sumdb/note): four lines, an
// empty one, an ed25519 signature. Notes are kept in files outside of the
// database. The package knows no driver and no payload.
package checkpoint

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

var (
	// ErrEmpty says that the ledger holds nothing that could be signed.
	ErrEmpty = errors.New("the ledger is empty")
	// ErrMalformed says that a text is no checkpoint.
	ErrMalformed = errors.New("not a checkpoint of a Waybill ledger")
	// ErrOtherKey says that a checkpoint is signed, but not by the key at hand.
	ErrOtherKey = errors.New("signed by another key")
)

// origin begins the first line of a checkpoint; the ledger's id follows.
const origin = "waybill-ledger/"

// Checkpoint says where a ledger stood. Ledger is the id of the ledger's first
// event: a copy that was made by export and import has the same.
type Checkpoint struct {
	Ledger uuid.UUID
	Head   ledger.Head
}

// Take is the checkpoint of a store's head now.
func Take(ctx context.Context, s Store) (Checkpoint, error) {
	h, err := s.Head(ctx)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("take checkpoint: %w", err)
	}
	id, err := ledger.Identity(ctx, s)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("take checkpoint: %w", err)
	}
	if h.Position == 0 || id == uuid.Nil {
		return Checkpoint{}, fmt.Errorf("take checkpoint: %w", ErrEmpty)
	}
	return Checkpoint{Ledger: id, Head: h}, nil
}

// Text is what is signed: origin with the ledger's id, position, hash in
// base64, recorded time, a line each.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s%s\n%d\n%s\n%s\n", origin, c.Ledger, c.Head.Position,
		base64.StdEncoding.EncodeToString(c.Head.Hash[:]), c.Head.RecordedAt)
}

// Parse reads the text of a checkpoint; lines behind the fourth are for later
// versions.
func Parse(text string) (c Checkpoint, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 5 || !strings.HasPrefix(lines[0], origin) {
		return c, ErrMalformed
	}
	id, err1 := uuid.Parse(lines[0][len(origin):])
	at, err2 := strconv.ParseUint(lines[1], 10, 63)
	hash, err3 := base64.StdEncoding.DecodeString(lines[2])
	when, err4 := time.Parse(time.RFC3339Nano, lines[3])
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return c, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if at == 0 || len(hash) != len(c.Head.Hash) {
		return c, fmt.Errorf("%w: position 0, or a hash of %d bytes", ErrMalformed, len(hash))
	}
	c = Checkpoint{Ledger: id, Head: ledger.Head{Position: events.Position(at), RecordedAt: events.At(when)}}
	copy(c.Head.Hash[:], hash)
	if c.Text() != strings.Join(lines[:4], "\n")+"\n" {
		return Checkpoint{}, fmt.Errorf("%w: it is not written as one is", ErrMalformed)
	}
	return c, nil
}

// Sign makes the note.
func (c Checkpoint) Sign(s note.Signer) ([]byte, error) {
	msg, err := note.Sign(&note.Note{Text: c.Text()}, s)
	if err != nil {
		return nil, fmt.Errorf("sign checkpoint: %w", err)
	}
	return msg, nil
}

// Open checks a note's signature and reads it.
func Open(msg []byte, v note.Verifier) (Checkpoint, error) {
	n, err := note.Open(msg, note.VerifierList(v))
	var other *note.UnverifiedNoteError
	if errors.As(err, &other) && len(other.Note.UnverifiedSigs) > 0 {
		err = ErrOtherKey
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("open checkpoint: %w", err)
	}
	return Parse(n.Text)
}
