package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/waybill/waybill/ledger"
)

// Store is what a keeper reads; *ledger.Log is one.
type Store interface {
	ledger.Scanner
	Head(ctx context.Context) (ledger.Head, error)
}

// Options make a Keeper.
type Options struct {
	Store    Store
	Key      *Key
	Dir      string        // where the notes are kept
	Interval time.Duration // between two looks
	Now      func() time.Time
	Logger   *slog.Logger
}

// State is what a keeper has to tell.
type State struct {
	Checkpoint        // the latest; zero: none yet
	Note       []byte // as signed
	Fault      error  // the ledger does not hold the latest checkpoint any more, or none could be kept
}

// Keeper takes checkpoints of a ledger that grows. Before it signs a new one it
// looks whether the ledger still holds the last: it signs no rewrite.
type Keeper struct {
	opt      Options
	verifier note.Verifier

	taking sync.Mutex // held while one is taken
	mu     sync.Mutex
	state  State
}

// NewKeeper goes on after the latest note in its directory.
func NewKeeper(o Options) (*Keeper, error) {
	v, err := note.NewVerifier(o.Key.Verifier())
	if err != nil {
		return nil, fmt.Errorf("checkpoint key: %w", err)
	}
	k := &Keeper{opt: o, verifier: v}
	msg, err := latest(o.Dir)
	if err != nil || msg == nil {
		return k, err
	}
	c, err := Open(msg, v)
	switch {
	case errors.Is(err, ErrOtherKey): // the key was replaced: nothing to go by
		return k, nil
	case err != nil:
		return nil, err
	}
	k.state = State{Checkpoint: c, Note: msg}
	return k, nil
}

// State is the latest checkpoint and what is wrong, if anything is.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// Run takes a checkpoint at every interval until ctx ends. The last one is for
// whoever stops the ledger to take.
func (k *Keeper) Run(ctx context.Context) {
	t := time.NewTicker(k.opt.Interval)
	defer t.Stop()
	for {
		if err := k.Take(ctx); err != nil && ctx.Err() == nil {
			k.opt.Logger.Error("no checkpoint of the ledger was taken", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// takeTime bounds the taking of one checkpoint.
const takeTime = 10 * time.Second

// Take checks the last checkpoint and signs the ledger's head, unless it is
// where it was.
func (k *Keeper) Take(ctx context.Context) error {
	k.taking.Lock()
	defer k.taking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	next, msg, err := k.sign(ctx, k.State())
	k.mu.Lock() // not before: a ledger that hangs must not hang who asks for the state
	defer k.mu.Unlock()
	switch {
	case errors.Is(err, ledger.ErrUnavailable), err != nil && ctx.Err() != nil:
		return err // nothing can be said of it now
	case err != nil:
		k.state.Fault = err
		return err
	case msg == nil:
		k.state.Fault = nil
		return nil
	}
	k.state = State{Checkpoint: next, Note: msg}
	return nil
}

func (k *Keeper) sign(ctx context.Context, last State) (c Checkpoint, msg []byte, err error) {
	c, err = Take(ctx, k.opt.Store)
	if errors.Is(err, ErrEmpty) && last.Note == nil {
		return c, nil, nil
	}
	if err != nil {
		return c, nil, err
	}
	if last.Note != nil && last.Ledger == c.Ledger {
		if f, err := last.Check(ctx, k.opt.Store); err != nil || f != nil {
			return c, nil, errors.Join(err, faultError(f))
		}
		if last.Head == c.Head {
			return c, nil, nil
		}
	}
	if msg, err = c.Sign(k.opt.Key); err != nil {
		return c, nil, err
	}
	return c, msg, Append(k.opt.Dir, msg, k.opt.Now())
}

func faultError(f *ledger.Fault) error {
	if f == nil {
		return nil
	}
	return f
}

// Check looks whether a ledger still holds the checkpoint: one row is read. A
// rewrite that kept this row changed what is before it, and its chain.
func (c Checkpoint) Check(ctx context.Context, s Store) (*ledger.Fault, error) {
	h, err := s.Head(ctx)
	if err != nil {
		return nil, err
	}
	if h.Position < c.Head.Position {
		return ledger.Cut(h, c.Head), nil
	}
	var fault *ledger.Fault
	found := false
	err = s.Scan(ctx, c.Head.Position-1, ledger.Filter{UpTo: c.Head.Position}, 1, func(r *ledger.Row) error {
		found, fault = true, c.Head.Holds(r)
		return nil
	})
	if errors.Is(err, ledger.ErrArchived) { // its archive holds it
		return nil, nil
	}
	if err == nil && !found {
		fault = &ledger.Fault{Position: c.Head.Position, Kind: ledger.FaultGap, Detail: "the event of a checkpoint is missing"}
	}
	return fault, err
}
