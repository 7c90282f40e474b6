package simulate

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
)

// snaps is where all gateways keep snapshots, beside the ledger.
type snaps struct {
	mu   sync.Mutex
	list []ledger.Snapshot
}

func (s *snaps) save(list []ledger.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range list {
		s.list = slices.DeleteFunc(s.list, func(o ledger.Snapshot) bool {
			return o.Name == n.Name && o.Version == n.Version && o.At.Position == n.At.Position
		})
		n.State = slices.Clone(n.State)
		s.list = append(s.list, n)
	}
	slices.SortFunc(s.list, func(a, b ledger.Snapshot) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.At.Position, b.At.Position))
	})
}

// release is the snapshots as the binary of one release sees them: its folds
// have versions of their own, so what another release stored is not its.
type release struct {
	port *port
	no   uint32
}

// Snapshots implements ledger.Snapshotter.
func (p *port) Snapshots() ledger.Snapshots { return &release{p, p.release} }

// shifted is a fold's version in this release.
func (r *release) shifted(version uint32) uint32 { return version + 1000*r.no }

// Save implements ledger.Snapshots.
func (r *release) Save(_ context.Context, list []ledger.Snapshot) error {
	if err := r.port.refused(); err != nil {
		return err
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Version = r.shifted(list[i].Version)
	}
	r.port.desk.snaps.save(list)
	return nil
}

// Newest implements ledger.Snapshots.
func (r *release) Newest(_ context.Context, name string, version uint32, upTo events.Position) (ledger.Snapshot, bool, error) {
	if err := r.port.refused(); err != nil {
		return ledger.Snapshot{}, false, err
	}
	s := &r.port.desk.snaps
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.list) - 1; i >= 0; i-- {
		if n := s.list[i]; n.Name == name && n.Version == r.shifted(version) && n.At.Position <= upTo {
			n.Version, n.State = version, slices.Clone(n.State)
			return n, true, nil
		}
	}
	return ledger.Snapshot{}, false, nil
}

// Places implements ledger.Snapshots.
func (r *release) Places(context.Context) ([]ledger.SnapshotPlace, error) {
	s := &r.port.desk.snaps
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []ledger.SnapshotPlace
	for _, n := range s.list {
		if n.Version/1000 == r.no {
			out = append(out, ledger.SnapshotPlace{Name: n.Name, Version: n.Version % 1000, Position: n.At.Position, Bytes: int64(len(n.State))})
		}
	}
	return out, r.port.refused()
}

// Drop implements ledger.Snapshots.
func (r *release) Drop(_ context.Context, list []ledger.SnapshotPlace) error {
	s := &r.port.desk.snaps
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range list {
		s.list = slices.DeleteFunc(s.list, func(n ledger.Snapshot) bool {
			return n.Name == x.Name && n.Version == r.shifted(x.Version) && n.At.Position == x.Position
		})
	}
	return r.port.refused()
}

// between are the events between two snapshots of a simulated keeper.
const between = 7

// snapshot lets a gateway store the states at the ledger's end; now and then
// what it stored is spoilt afterwards: cut off, of another ledger, or moved.
func (w *world) snapshot(g *gateway, s *Step) {
	w.call(g, "stores snapshots", func(ctx context.Context, p *process) error {
		return views.NewKeeper(p.log, between, nil).Finish(ctx)
	})
	if s.B%4 != 0 {
		return
	}
	t := &w.desk.snaps
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) == 0 {
		return
	}
	at := t.list[int(s.C)%len(t.list)].At.Position
	if s.B/4%3 == 2 {
		for _, n := range t.list { // who starts next asks for these
			at = max(at, n.At.Position)
		}
	}
	w.note("the snapshots at %d are spoilt", at)
	for i := range t.list {
		switch n := &t.list[i]; {
		case n.At.Position != at:
		case s.B/4%3 == 0:
			n.State = n.State[:len(n.State)/2]
		case s.B/4%3 == 1:
			n.At.Position = max(at-1, 1) // the states hold more than they say
		case i > 0 && t.list[i-1].Name == n.Name && t.list[i-1].Version == n.Version:
			n.State = t.list[i-1].State // genuine, and older than they say
		}
	}
}
