package simulate

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// desk is the ledger as all gateways share it, and what they ask of it. Only
// the world's goroutine changes the store.
type desk struct {
	store *ledgertest.Memory
	snaps snaps

	mu      sync.Mutex
	ops     []*op
	done    []completion
	held    map[uuid.UUID]*port
	knocked chan struct{}
	count   int
}

func newDesk() *desk {
	return &desk{store: ledgertest.NewMemory(), held: map[uuid.UUID]*port{}, knocked: make(chan struct{}, 1)}
}

func (d *desk) knock() {
	select {
	case d.knocked <- struct{}{}:
	default:
	}
}

type opKind uint8

const (
	opCommit opKind = iota
	opHead
	opScan
	opTake
)

// op waits at the port until the world lets it through.
type op struct {
	port    *port
	kind    opKind
	no      int
	batch   []events.Record
	granted chan grant
	left    bool // nobody waits for it any more
	stuck   int  // steps that a slow append still takes
}

type grant struct {
	results []ledger.Result
	head    ledger.Head
	err     error
}

// completion is what a goroutine has to tell the world.
type completion struct {
	no int
	fn func()
}

// tell hands a result to the world, which takes them in the order of numbers.
func (d *desk) tell(no int, fn func()) {
	d.mu.Lock()
	d.done = append(d.done, completion{no, fn})
	d.mu.Unlock()
	d.knock()
}

func (d *desk) takeDone() []completion {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.done
	d.done = nil
	slices.SortStableFunc(out, func(a, b completion) int { return a.no - b.no })
	return out
}

// ready lists the operations that may go on, in an order that does not depend
// on which goroutine came first.
func (d *desk) ready() []*op {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops = slices.DeleteFunc(d.ops, func(o *op) bool { return o.left && o.stuck == 0 })
	var out []*op
	for _, o := range d.ops {
		if o.stuck == 0 && o.port.state() != silent {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b *op) int {
		if a.port.no != b.port.no {
			return a.port.no - b.port.no
		}
		return int(a.kind) - int(b.kind)
	})
	return out
}

func (d *desk) drop(o *op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops = slices.DeleteFunc(d.ops, func(x *op) bool { return x == o })
}

// link is how a gateway reaches the ledger.
type link uint8

const (
	whole  link = iota
	cut         // every call fails at once
	silent      // no call is answered
	gone        // the process is dead
)

// port is one process's ledger.Store.
type port struct {
	desk *desk
	no   int

	release uint32 // of the binary, for its snapshots

	mu     sync.Mutex
	link   link
	poke   func()
	writer uuid.UUID
	saw    ledger.Head // the newest that a call to Head was told
	faults []string    // of the next commits
}

func (p *port) state() link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link
}

func (p *port) set(l link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link = l
}

func (p *port) refused() error {
	switch p.state() {
	case cut:
		return fmt.Errorf("%w: no route to the ledger", ledger.ErrUnavailable)
	case gone:
		return ledger.ErrClosed
	}
	return nil
}

// enter asks the world for one operation and waits.
func (p *port) enter(ctx context.Context, kind opKind, batch []events.Record) (grant, error) {
	if err := p.refused(); err != nil {
		return grant{}, err
	}
	o := &op{port: p, kind: kind, batch: batch, granted: make(chan grant, 1)}
	d := p.desk
	d.mu.Lock()
	d.count++
	o.no = d.count
	d.ops = append(d.ops, o)
	d.mu.Unlock()
	d.knock()
	select {
	case g := <-o.granted:
		return g, g.err
	case <-ctx.Done():
		d.mu.Lock()
		o.left = true
		d.mu.Unlock()
		return grant{}, fmt.Errorf("%w: %w", ledger.ErrUnavailable, ctx.Err())
	}
}

// Commit implements ledger.Store.
func (p *port) Commit(ctx context.Context, batch []events.Record) ([]ledger.Result, error) {
	g, err := p.enter(ctx, opCommit, batch)
	return g.results, err
}

// Head implements ledger.Store. A head that has not moved needs no turn.
func (p *port) Head(ctx context.Context) (ledger.Head, error) {
	if err := p.refused(); err != nil {
		return ledger.Head{}, err
	}
	if h, err := p.desk.store.Head(ctx); err == nil && h == p.last() && p.state() == whole {
		return h, nil
	}
	g, err := p.enter(ctx, opHead, nil)
	return g.head, err
}

func (p *port) last() ledger.Head {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.saw
}

// Scan implements ledger.Store.
func (p *port) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	if _, err := p.enter(ctx, opScan, nil); err != nil {
		return err
	}
	return p.desk.store.Scan(ctx, after, f, limit, fn)
}

// Close implements ledger.Store.
func (p *port) Close() error {
	p.set(gone)
	return nil
}

// Watch implements ledger.Shared.
func (p *port) Watch(ctx context.Context, poke func()) error {
	p.mu.Lock()
	p.poke = poke
	p.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (p *port) wake() {
	p.mu.Lock()
	poke := p.poke
	p.mu.Unlock()
	if poke != nil && p.state() == whole {
		poke()
	}
}

// Hold implements ledger.Writers.
func (p *port) Hold(_ context.Context, writer uuid.UUID) error {
	if err := p.refused(); err != nil {
		return err
	}
	p.desk.mu.Lock()
	defer p.desk.mu.Unlock()
	p.writer, p.desk.held[writer] = writer, p
	return nil
}

// TakeOver implements ledger.Writers.
func (p *port) TakeOver(ctx context.Context, writer uuid.UUID, fn func(context.Context) error) (bool, error) {
	if p.desk.holder(writer) != nil {
		return false, p.refused()
	}
	if _, err := p.enter(ctx, opTake, nil); err != nil {
		return false, err
	}
	if !p.desk.take(writer, p) {
		return false, nil
	}
	defer p.desk.release(writer)
	return true, fn(ctx)
}

func (d *desk) holder(writer uuid.UUID) *port {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held[writer]
}

func (d *desk) take(writer uuid.UUID, p *port) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held[writer] != nil {
		return false
	}
	d.held[writer] = p
	return true
}

func (d *desk) release(writer uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.held, writer)
}

// copied is a batch that outlives its call: the committer uses its memory again.
func copied(batch []events.Record) []events.Record {
	out := slices.Clone(batch)
	for i := range out {
		out[i].Payload = bytes.Clone(out[i].Payload)
	}
	return out
}
