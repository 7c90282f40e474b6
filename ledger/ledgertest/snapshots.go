package ledgertest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Snapshots is the conformance of a store's snapshots; every driver that has
// them runs it.
func Snapshots(t *testing.T, open func(t *testing.T) ledger.Store) {
	store := open(t)
	defer store.Close()
	keep, ok := store.(ledger.Snapshotter)
	if !ok {
		t.Fatal("the store keeps no snapshots")
	}
	table, ctx := keep.Snapshots(), t.Context()
	if _, ok, err := table.Newest(ctx, "a", 1, 1<<62); ok || err != nil {
		t.Fatalf("an empty store gave %v, %v", ok, err)
	}
	one := func(name string, version uint32, at events.Position, state string) ledger.Snapshot {
		return ledger.Snapshot{Name: name, Version: version, At: ledger.Head{Position: at, Hash: events.Hash{1, byte(at)}}, State: []byte(state)}
	}
	large := string(bytes.Repeat([]byte("x"), 3<<20))
	err := table.Save(ctx, []ledger.Snapshot{one("a", 1, 10, "a10"), one("a", 1, 20, large), one("a", 2, 15, "other version"), one("b", 1, 12, "b12")})
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Save(ctx, []ledger.Snapshot{one("a", 1, 10, "a10 again")}); err != nil {
		t.Fatalf("the same place again: %v", err)
	}
	for _, row := range []struct {
		name    string
		version uint32
		upTo    events.Position
		want    string
		at      events.Position
	}{
		{"a", 1, 9, "", 0}, {"a", 1, 10, "a10 again", 10}, {"a", 1, 19, "a10 again", 10}, {"a", 1, 20, large, 20}, {"a", 1, 1<<64 - 1, large, 20},
		{"a", 2, 99, "other version", 15}, {"a", 3, 99, "", 0}, {"b", 1, 99, "b12", 12}, {"c", 1, 99, "", 0},
	} {
		got, ok, err := table.Newest(ctx, row.name, row.version, row.upTo)
		if err != nil || ok != (row.want != "") {
			t.Fatalf("%s %d up to %d: %v, %v", row.name, row.version, row.upTo, ok, err)
		}
		if ok && (string(got.State) != row.want || got.At.Position != row.at || got.At.Hash != (events.Hash{1, byte(row.at)}) || got.Version != row.version) {
			t.Errorf("%s %d up to %d: %d bytes at %+v", row.name, row.version, row.upTo, len(got.State), got.At)
		}
	}
	places, err := table.Places(ctx)
	want := []ledger.SnapshotPlace{{Name: "a", Version: 1, Position: 10, Bytes: 9}, {Name: "a", Version: 1, Position: 20, Bytes: 3 << 20},
		{Name: "a", Version: 2, Position: 15, Bytes: 13}, {Name: "b", Version: 1, Position: 12, Bytes: 3}}
	if err != nil || !slices.Equal(places, want) {
		t.Fatalf("%+v, %v", places, err)
	}
	if err := table.Drop(ctx, append(places[1:3], ledger.SnapshotPlace{Name: "no such"})); err != nil {
		t.Fatal(err)
	}
	if left, err := table.Places(ctx); err != nil || len(left) != 2 || left[1].Name != "b" {
		t.Fatalf("%+v, %v", left, err)
	}
}
