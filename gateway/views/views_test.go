package views_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/opening"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/usage"
	"github.com/waybill/waybill/test/played"
)

const every = 64

func all(keep int) []projections.Projection {
	return []projections.Projection{admission.New(), pins.New(), opening.New(), usage.New(), requests.New(keep)}
}

// place opens the ledger in a directory.
func place(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open plays an incident and random traffic on the ledger at a path.
func open(t *testing.T, path string, seed uint64, n int) *played.Gateway {
	t.Helper()
	policy := events.DefaultPolicy()
	policy.TrialWait, policy.PinWait = time.Millisecond, time.Millisecond
	doc := played.Document(played.Names(20)...)
	doc.Policy = policy
	g := played.OpenWith(t, place(t, path), played.NewTicking(), doc, played.Names(20)...)
	g.Traffic(seed, n, 24)
	return g
}

// kept stores the snapshots of what a gateway has written.
func kept(t *testing.T, log *ledger.Log) {
	t.Helper()
	if err := views.NewKeeper(log, every, nil).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAViewFromASnapshotEqualsTheFoldFromZeroAtEveryPosition_I1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waybill.db")
	g := open(t, path, 7, 150)
	kept(t, g.Log)
	head, err := g.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	zero, used := all(requests.Keep), map[events.Position]bool{}
	err = views.Each(t.Context(), g.Log, 0, 0, func(e *events.Event) error {
		for _, p := range zero {
			p.Apply(e)
		}
		if e.Position%23 != 0 && e.Position%every > 1 && e.Position != head.Position {
			return nil
		}
		at := all(requests.Keep)
		from, err := views.To(t.Context(), g.Log, e.Position, nil, nil, at...)
		if err != nil {
			return err
		}
		used[from] = true
		if from+every <= e.Position {
			t.Errorf("position %d is answered from %d", e.Position, from)
		}
		same(t, e.Position, at, zero)
		return nil
	})
	if err != nil || len(used) < int(head.Position)/every {
		t.Fatalf("%d snapshots were used up to %d; %v", len(used), head.Position, err)
	}
	g.Close()
}

func same(t *testing.T, at events.Position, got, want []projections.Projection) {
	t.Helper()
	for i := range want {
		if a, b := got[i].AppendState(nil), want[i].AppendState(nil); !bytes.Equal(a, b) {
			t.Fatalf("%s at %d: %d bytes from a snapshot, %d from zero, or others", want[i].Name(), at, len(a), len(b))
		}
	}
}

// TestAGatewayThatStartsFromASnapshotHasTheViewsOfOneThatDoesNot: three runs,
// each of which leaves attempts open; the file of snapshots is deleted before
// the third.
func TestAGatewayThatStartsFromASnapshotHasTheViewsOfOneThatDoesNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waybill.db")
	for run := range 3 {
		if run == 2 {
			if err := os.Remove(path + ".snapshots"); err != nil {
				t.Fatal(err)
			}
		}
		g := open(t, path, uint64(run), 60)
		head, err := g.Log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		zero := all(requests.Keep)
		if err := views.Each(t.Context(), g.Log, 0, head.Position, func(e *events.Event) error {
			for _, p := range zero {
				p.Apply(e)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		g.Requests(func(v *requests.View, at events.Position) {
			if at != head.Position || !bytes.Equal(v.AppendState(nil), zero[4].AppendState(nil)) {
				t.Errorf("run %d: the requests at %d differ from a fold from zero to %d", run, at, head.Position)
			}
		})
		kept(t, g.Log)
		g.Close()
	}
}

func TestAKeeperThatIsKilledAnywhereGoesOnWithTheSameSegments(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "waybill.db")
	g := open(t, path, 3, 180)
	kept(t, g.Log)
	want := segments(t, g.Log, every)
	if len(want) < 3*8 {
		t.Fatalf("only %d parts of segments", len(want))
	}
	for _, p := range []events.Position{every / 2, every, 3*every + 1, 5*every - 1} {
		if err := os.Remove(path + ".snapshots"); err != nil {
			t.Fatal(err)
		}
		g.Close()
		s := place(t, path)
		log := ledger.Open(&short{Store: s, end: p})
		kept(t, log) // stops in the midst of a segment and stores where it stands
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		g = played.Open(t, place(t, path), played.NewTicking(), played.Names(20)...)
		kept(t, g.Log)
		got := segments(t, g.Log, every)
		for at, state := range want {
			if !bytes.Equal(got[at], state) {
				t.Errorf("stopped at %d: %s is another", p, at)
			}
		}
	}
	g.Close()
}

// short is a ledger that seems to end early.
type short struct {
	*sqlite.Store
	end events.Position
}

func (s *short) Head(context.Context) (ledger.Head, error) { return ledger.Head{Position: s.end}, nil }

// segments are the heads, rows and indexes of all whole segments, by name and
// position.
func segments(t *testing.T, log *ledger.Log, every events.Position) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	table := log.Snapshots()
	places, err := table.Places(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		if p.Position%every != 0 || p.Name != requests.Heads && !requests.Historic(p.Name) {
			continue
		}
		s, ok, err := table.Newest(t.Context(), p.Name, p.Version, p.Position)
		if err != nil || !ok {
			t.Fatalf("%s at %d: %v", p.Name, p.Position, err)
		}
		out[fmt.Sprint(p.Name, " at ", p.Position)] = s.State
	}
	return out
}

// A store of snapshots that is broken for long costs a gap, not memory without
// end: then segments begin at their boundaries again.
func TestASegmentThatCannotBeStoredDoesNotGoOnForEver(t *testing.T) {
	const every, broken = 4, 33
	path := filepath.Join(t.TempDir(), "waybill.db")
	open(t, path, 3, 180).Close()
	whole := func(fails int) map[string][]byte {
		if err := os.Remove(path + ".snapshots"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		log := ledger.Open(&failing{Store: place(t, path), fails: fails})
		defer log.Close()
		if err := views.NewKeeper(log, every, nil).Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		return segments(t, log, every)
	}
	want, got, n := whole(0), whole(broken), 0
	for at, state := range got {
		if n++; !bytes.Equal(want[at], state) {
			t.Errorf("%s is another", at)
		}
	}
	if n == 0 || n == len(want) {
		t.Errorf("%d of %d parts are stored", n, len(want))
	}
}

// failing is a ledger whose snapshots cannot be stored at first.
type failing struct {
	*sqlite.Store
	fails int
}

func (f *failing) Snapshots() ledger.Snapshots { return &failingTable{f.Store.Snapshots(), f} }

type failingTable struct {
	ledger.Snapshots
	of *failing
}

func (f *failingTable) Save(ctx context.Context, list []ledger.Snapshot) error {
	if f.of.fails > 0 {
		f.of.fails--
		return errors.New("the disk is full")
	}
	return f.Snapshots.Save(ctx, list)
}

// holed is a ledger that has lost one event.
type holed struct {
	views.Log
	lost events.Position
}

// Scan implements views.Scanner.
func (h holed) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	return h.Log.Scan(ctx, after, f, limit, func(r *ledger.Row) error {
		if r.Position == h.lost {
			return nil
		}
		return fn(r)
	})
}

func TestAFoldNeverPassesAHole(t *testing.T) {
	g := open(t, filepath.Join(t.TempDir(), "waybill.db"), 3, 20)
	defer g.Close()
	head, err := g.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, lost := range []events.Position{1, 2, head.Position / 2, head.Position} {
		_, err := views.To(t.Context(), holed{g.Log, lost}, head.Position, nil, nil, all(requests.Keep)...)
		if !errors.Is(err, ledger.ErrBroken) || !strings.Contains(err.Error(), fmt.Sprintf("event %d is missing", lost)) {
			t.Errorf("without event %d: %v", lost, err)
		}
	}
}
