package views

import (
	"context"
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/requests"
)

// budget is how many bytes the states of one projection may take. Beyond it
// every other one of the older half is dropped: what lies long back is then
// answered from a snapshot that is further away. What is historic is no state:
// it is kept whole, and is a tenth of the ledger.
const budget = 128 << 20

// thin drops what is not needed any more: states of other versions and
// positions between two boundaries but for the newest, and what goes beyond the
// budget.
func (k *Keeper) thin(ctx context.Context) error {
	all, err := k.snaps.Places(ctx)
	if err != nil {
		return err
	}
	versions := map[string]uint32{}
	for _, p := range k.all {
		versions[nameOf(p)] = p.Version()
	}
	var drop []ledger.SnapshotPlace
	states := map[string][]ledger.SnapshotPlace{}
	for _, p := range all {
		v, known := versions[p.Name]
		if requests.Historic(p.Name) {
			v, known = k.requests.Version(), true
		}
		switch {
		case known && p.Version > v: // of a newer release that shares the ledger
		case !known || p.Version < v, p.Position%k.every != 0 && p.Position < k.head.Position:
			drop = append(drop, p)
		case !requests.Historic(p.Name):
			states[p.Name] = append(states[p.Name], p)
		}
	}
	for _, list := range states {
		drop = append(drop, surplus(list, k.every, k.budget)...)
	}
	return k.snaps.Drop(ctx, drop)
}

// surplus is every other place of the older half, as long as the list takes
// more than it may. Places that are multiples of larger powers of two stay
// longest, so that what is left is spread evenly.
func surplus(list []ledger.SnapshotPlace, every events.Position, budget int64) (drop []ledger.SnapshotPlace) {
	total := int64(0)
	for _, p := range list {
		total += p.Bytes
	}
	for step := every * 2; total > budget && step != 0; step *= 2 {
		older := len(list) / 2
		kept := list[:0:0]
		for i, p := range list {
			if i < older && p.Position%step != 0 && total > budget {
				total -= p.Bytes
				drop = append(drop, p)
				continue
			}
			kept = append(kept, p)
		}
		if len(kept) < 4 {
			break
		}
		list = slices.Clip(kept)
	}
	return drop
}
