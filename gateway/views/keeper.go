package views

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/snapshot"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/opening"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/usage"
)

// Every is how many events lie between two snapshots: the longest tail that any
// question about the past folds. At the positions that it divides all gateways
// of a ledger store the same bytes.
const Every = 8192

// maxFailed bounds the boundaries that one segment goes on over.
const maxFailed = 32

// keepRetry is the pause before following is taken up again after a fault.
const keepRetry = 5 * time.Second

// Followed is a ledger that can be followed.
type Followed interface {
	Log
	Follow(ctx context.Context, after events.Position, fn func([]events.Event) error) error
}

// Keeper stores snapshots. It folds views of its own behind the ledger, so that
// it takes nothing from decisions: no lock, no copy of a state that is in use.
type Keeper struct {
	log    Followed
	snaps  *snapshot.Store
	logger *slog.Logger
	every  events.Position
	budget int64 // bytes of one projection's states

	all      []projections.Projection
	requests *requests.View
	head     ledger.Head
	failed   int // boundaries whose states could not be stored, one after another
}

// NewKeeper is a keeper of a ledger's snapshots. every is Every, but in tests.
func NewKeeper(log Followed, every events.Position, logger *slog.Logger) *Keeper {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Keeper{log: log, snaps: snapshot.Of(log, logger), logger: logger, every: every, budget: budget}
}

// Run follows the ledger until ctx ends. Then Finish stores where it stands.
func (k *Keeper) Run(ctx context.Context) {
	if k.snaps == nil {
		return
	}
	for ctx.Err() == nil {
		err := k.follow(ctx)
		if ctx.Err() != nil || errors.Is(err, ledger.ErrClosed) {
			return
		}
		k.logger.Warn("snapshots are not kept up to date", "error", err)
		ledger.Rest(ctx, keepRetry)
	}
}

// Finish stores the state at the ledger's end, so that the next start folds
// nothing. Call it when Run has returned and nothing is appended any more.
func (k *Keeper) Finish(ctx context.Context) error {
	if k.snaps == nil {
		return nil
	}
	if err := k.resume(ctx); err != nil {
		return err
	}
	err := Each(ctx, k.log, k.head.Position, 0, func(e *events.Event) error { return k.apply(ctx, e) })
	if err != nil || k.head.Position%k.every == 0 {
		return err
	}
	if err := k.save(ctx); err != nil {
		return err
	}
	return k.thin(ctx)
}

// follow folds what is committed, from the newest snapshot on.
func (k *Keeper) follow(ctx context.Context) error {
	if err := k.resume(ctx); err != nil {
		return err
	}
	return k.log.Follow(ctx, k.head.Position, func(run []events.Event) error {
		for i := range run {
			if err := k.apply(ctx, &run[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// kept are fresh projections of all that snapshots are kept of.
func kept(r *requests.View) []projections.Projection {
	return []projections.Projection{admission.New(), pins.New(), opening.New(), usage.New(), r}
}

// resume starts from the newest snapshot that holds everything, once.
func (k *Keeper) resume(ctx context.Context) error {
	if k.all != nil {
		return nil
	}
	k.requests = requests.New(requests.Keep)
	k.requests.Record()
	all := kept(k.requests)
	at, err := Load(ctx, k.snaps, 1<<63-1, all...)
	if err != nil {
		return err
	}
	if at%k.every == 0 {
		k.requests.Cut()
	}
	k.all, k.head = all, ledger.Head{Position: at}
	return nil
}

func (k *Keeper) apply(ctx context.Context, e *events.Event) error {
	for _, p := range k.all {
		p.Apply(e)
	}
	k.head = ledger.Head{Position: e.Position, Hash: e.Hash, RecordedAt: e.RecordedAt}
	if e.Position%k.every != 0 {
		return nil
	}
	if err := k.boundary(ctx); err != nil && ctx.Err() == nil {
		k.logger.Warn("no snapshot was stored", "position", e.Position, "error", err)
	}
	return ctx.Err()
}

// boundary stores the states of a boundary, unless another gateway has. A
// segment that could not be stored goes on to the next boundary, but not for
// ever: then the history has a gap, and questions about it are answered slowly.
func (k *Keeper) boundary(ctx context.Context) error {
	if x, ok := k.snaps.Newest(ctx, requests.Indexes, k.requests.Version(), k.head.Position); ok && x.At.Position == k.head.Position {
		k.requests.Cut()
		return nil
	}
	err := k.save(ctx)
	if err == nil {
		err = k.thin(ctx)
	}
	if k.failed++; err == nil || k.failed > maxFailed {
		k.failed = 0
		k.requests.Cut()
	}
	return err
}

// save stores the states and the segment.
func (k *Keeper) save(ctx context.Context) error {
	segment := k.requests.Segment()
	list := make([]ledger.Snapshot, 0, len(k.all)+1+segment.Parts())
	add := func(name string, version uint32, state []byte) {
		list = append(list, ledger.Snapshot{Name: name, Version: version, At: k.head, State: state})
	}
	for _, p := range k.all {
		add(nameOf(p), p.Version(), stateOf(p))
	}
	version := k.requests.Version()
	add(requests.Indexes, version, segment.Index().AppendState(nil))
	for n := range segment.Parts() {
		add(requests.PartName(n), version, segment.AppendPart(nil, n))
	}
	return k.snaps.Save(ctx, list...)
}
