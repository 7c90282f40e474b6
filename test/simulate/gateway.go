package simulate

import (
	"context"
	"slices"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/spool"
)

// gateway is a place where processes run, one at a time.
type gateway struct {
	no    int
	proc  *process      // nil while it is down
	drift time.Duration // its machine's clock is off by this; a process takes it over when it starts
	runs  int
	// release of the binary that is installed: of two, whose folds differ
	release uint32
	disk    *ledgertest.Memory // where its spool is; nil: it has none
}

// process is one run of a gateway.
type process struct {
	gate   *gateway
	port   *port
	log    *ledger.Log
	engine *engine.Engine // nil while it opens
	life   context.Context
	kill   context.CancelFunc
	closed chan struct{}
	disk   *disk        // nil when there is no spool
	spool  *spool.Spool // of it

	queue    []*request
	deciding *request
	busy     bool // an operator's call or a reload is under way
}

func (p *process) dead() bool { return p.gate.proc != p }

// bounds of a gateway's log: followers look at the ledger this often.
const poll = 2 * time.Second

// start runs a new process. It is up when the ledger has let it open.
func (w *world) start(g *gateway) {
	if g.proc != nil {
		return
	}
	g.runs++
	p := &process{gate: g, port: &port{desk: w.desk, no: g.no, release: g.release}, closed: make(chan struct{})}
	p.life, p.kill = context.WithCancel(context.Background())
	p.log = ledger.OpenWith(p.port, ledger.Options{Poll: poll, Retries: 3})
	g.proc = p
	o := engine.Options{Log: p.log, Accounts: slices.Clone(w.accounts), Document: w.document, Version: "simulated", Strict: true,
		IDs: engine.SeededIDs(w.seed<<16 | uint64(g.no)<<8 | uint64(g.runs))}
	if off := g.drift; off != 0 || !w.size.Skewed { // else the process's own clock, which is corrected by the ledger's
		o.Now = func() events.Time { return events.At(time.Now().Add(off)) }
	}
	if err := p.mount(w, g); err != nil {
		w.fail("g%d: %v", g.no, err)
		return
	}
	o.Spool = p.spool
	w.note("g%d starts", g.no)
	go func() {
		e, err := engine.Open(p.life, o)
		w.desk.tell(-g.no, func() { w.opened(p, e, err) })
	}()
	w.settle()
}

func (w *world) opened(p *process, e *engine.Engine, err error) {
	switch {
	case p.dead():
		w.bury(p, e)
	case err != nil:
		w.note("g%d does not start: %v", p.gate.no, err)
		p.gate.proc = nil
		w.stopped(p)
		w.bury(p, nil)
	default:
		w.note("g%d is up", p.gate.no)
		p.engine = e
		w.laws.healed(p)
		w.pump(p)
	}
}

// crash ends a process at once: what it had told nobody is lost, and an append
// that is under way takes effect or not.
func (w *world) crash(g *gateway) {
	p := g.proc
	if p == nil {
		return
	}
	w.laws.crashes++
	w.note("g%d crashes", g.no)
	g.proc = nil
	p.port.clear()
	if p.disk != nil {
		p.disk.gone.Store(true)
	}
	for _, o := range w.desk.of(p.port) {
		if o.kind == opCommit && o.stuck == 0 && w.rand.IntN(2) == 0 {
			w.note("g%d: the append under way takes effect", g.no)
			_, _ = w.commit(p.port, o.batch)
		}
		if o.stuck == 0 {
			w.desk.drop(o)
			o.granted <- grant{err: ledger.ErrClosed}
		}
	}
	w.stopped(p)
	if p.engine != nil {
		w.bury(p, p.engine)
	}
	w.settle()
}

// stopped takes a process out of the world: its clients see broken connections.
func (w *world) stopped(p *process) {
	p.port.set(gone)
	p.kill()
	w.desk.letGo(p.port)
	for _, r := range w.requests {
		if r.proc == p && !r.over {
			w.end(r, "its gateway is gone")
		}
	}
	w.laws.forget(p)
}

// bury ends the goroutines of a process. Nothing that they do reaches the
// ledger.
func (w *world) bury(p *process, e *engine.Engine) {
	synctest.Wait() // its clients' goroutines are over: closing beside them is nobody's business
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	go func() {
		if e != nil {
			_ = e.Close(ctx)
		}
		p.close()
	}()
}

// close gives up what a process had open.
func (p *process) close() {
	_ = p.log.Close()
	if p.spool != nil {
		_ = p.spool.Close()
	}
	close(p.closed)
}

// mount opens the spool on the gateway's disk.
func (p *process) mount(w *world, g *gateway) (err error) {
	if g.disk == nil {
		return nil
	}
	p.disk = &disk{Memory: g.disk}
	p.spool, err = spool.Open(p.life, p.disk, w.size.Spool)
	return err
}

// deploy replaces a process in good order: requests end, what was recorded is
// committed, a new one starts.
func (w *world) deploy(g *gateway) {
	p := g.proc
	if p == nil || p.engine == nil || p.port.state() != whole {
		return
	}
	w.note("g%d is deployed anew", g.no)
	for _, r := range slices.Clone(w.requests) {
		if r.proc == p && !r.over {
			w.leave(r)
		}
	}
	w.shutdown(p)
	g.release = 1 - g.release
	w.start(g)
}

// shutdown closes a process as its main does.
func (w *world) shutdown(p *process) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	ended := false
	go func() {
		err := p.engine.Close(ctx)
		w.desk.tell(-p.gate.no, func() {
			cancel()
			if err != nil {
				w.note("g%d: %v", p.gate.no, err)
			}
			ended = true
		})
	}()
	for i := 0; !ended && i < 400; i++ {
		w.pass(100 * time.Millisecond)
		w.unstick(true)
	}
	if !ended {
		w.fail("g%d does not close", p.gate.no)
	}
	go p.close()
	w.settle()
	p.gate.proc = nil
	w.stopped(p)
}

// of lists what a port asks for.
func (d *desk) of(p *port) []*op {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []*op
	for _, o := range d.ops {
		if o.port == p && !o.left {
			out = append(out, o)
		}
	}
	return out
}

// letGo frees the writers that a process held, as the end of its connection does.
func (d *desk) letGo(p *port) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for writer, holder := range d.held {
		if holder == p {
			delete(d.held, writer)
		}
	}
}

func (p *port) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

func (p *port) fault() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.faults) == 0 {
		return ""
	}
	f := p.faults[0]
	p.faults = p.faults[1:]
	return f
}
