// Package scenario drives the pure core on a fake clock: a ledger in memory,
// gateways that fold it and decide on it, and upstreams that answer by script.
// It knows no network, no disk and no time of its own. Transcripts under
// testdata are written in its commands; the laws of admission and routing run
// random worlds.
package scenario

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/routing"
)

// Start is when a world begins.
var Start = events.At(time.Date(2026, 9, 21, 6, 0, 0, 0, time.UTC))

// World is one ledger and everything around it.
type World struct {
	Now      events.Time
	Log      []events.Event // committed; entry i is at position Trimmed+i+1
	Trimmed  events.Position
	Document events.Document
	Gateways []*Gateway
	Hits     map[string]int // dispatches by account id

	// OnDecision, where it is set, sees every decision before it is followed.
	OnDecision func(r *Request, s events.Stamp, d *routing.Decision)

	upstreams map[upstreamKey]*upstream
	requests  map[string]*Request
	made      uint64 // ids given out
	trace     strings.Builder
}

// New is a world with one gateway and no account.
func New() *World {
	w := &World{Now: Start, Hits: map[string]int{}, upstreams: map[upstreamKey]*upstream{}, requests: map[string]*Request{}}
	w.Document.Policy = events.DefaultPolicy()
	w.Gateways = []*Gateway{w.newGateway()}
	return w
}

// Gateway is the first gateway.
func (w *World) Gateway() *Gateway { return w.Gateways[0] }

// id makes ids that count, so that transcripts and choices are the same on
// every run.
func (w *World) id() uuid.UUID {
	w.made++
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[8:], w.made*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(id[:8], w.made)
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

// Advance moves the clock and lets everyone who waits look again.
func (w *World) Advance(d time.Duration) {
	w.Now = w.Now.Add(d)
	w.wake()
}

// append commits drafts of one writer.
func (w *World) append(drafts ...events.Draft) {
	for i := range drafts {
		e := drafts[i].Pending()
		e.Position, e.RecordedAt = w.Head()+1, w.Now
		w.Log = append(w.Log, e)
	}
}

// Head is the newest position.
func (w *World) Head() events.Position { return w.Trimmed + events.Position(len(w.Log)) }

// Trim forgets what every gateway has folded, for histories that are too long
// to keep. Such a world cannot be verified or restarted.
func (w *World) Trim() {
	upTo := w.Head()
	for _, g := range w.Gateways {
		upTo = min(upTo, g.live.Position())
	}
	w.Log = append(w.Log[:0], w.Log[upTo-w.Trimmed:]...)
	w.Trimmed = upTo
}

// Adopt makes the world's document the one in force.
func (w *World) Adopt() {
	doc := w.Document
	w.Gateway().Record("", "", &events.PolicyAdopted{Digest: doc.Digest(), Document: doc})
}

// account finds an account on the first gateway's view.
func (w *World) account(id string) (*admission.Account, error) {
	w.Gateway().follow()
	if a := w.Gateway().view.Admission.Account(id); a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("no account %q", id)
}

func (w *World) tracef(format string, args ...any) { fmt.Fprintf(&w.trace, format+"\n", args...) }

// took returns what was traced since the last call.
func (w *World) took() string {
	s := w.trace.String()
	w.trace.Reset()
	return s
}

// since is an instant as the time since the start, "-" when absent.
func since(t events.Time) string {
	if t == 0 {
		return "-"
	}
	return short(t.Sub(Start))
}

// short writes a duration without its zero parts.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
