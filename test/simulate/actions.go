package simulate

import (
	"context"
	"slices"
	"time"

	"github.com/waybill/waybill/events"
)

// do is one step of a script.
func (w *world) do(s *Step) {
	g := w.gates[int(s.A)%len(w.gates)]
	switch s.Do {
	case "request":
		w.send(g, s.B, s.C)
	case "burst":
		for i := range 3 + s.B%4 {
			w.send(w.gates[int(s.A+i)%len(w.gates)], s.C, s.C+i)
		}
	case "answer":
		if len(w.open) > 0 {
			w.reply(w.open[int(s.B)%len(w.open)], s.C)
		}
	case "leave":
		if len(w.requests) > 0 {
			w.leave(w.requests[len(w.requests)-1-int(s.B)%min(len(w.requests), 8)])
		}
	case "pass":
		w.pass(time.Duration(1+s.B%240) * time.Second)
	case "crash":
		w.crash(g)
	case "start":
		w.startOne(s.A)
	case "deploy":
		w.deploy(g)
	case "wake":
		w.wakeLate()
	case "upstream":
		w.change(s)
	default:
		w.ledgerOrPeople(g, s)
	}
	w.pass(s.Pass)
	w.unstick(false)
	w.settle()
}

func (w *world) ledgerOrPeople(g *gateway, s *Step) {
	switch s.Do {
	case "cut":
		w.sever(g, s)
	case "heal":
		w.healAll()
	case "fault":
		w.troubleAhead(g, s)
	case "clock":
		w.stepClock(g, s)
	case "nag": // a console that says the same again and again
		for i := uint32(0); i < 10 && w.failure == nil; i++ {
			w.ledgerOrPeople(g, &Step{Do: "reading", B: s.B, C: s.C &^ 7})
			w.pass(29 * time.Second)
			w.check()
		}
	case "reading":
		account := w.accounts[int(s.B)%len(w.accounts)].ID
		w.tell(g, "a reading of "+account, func(p *process) events.Draft {
			return events.Draft{Header: events.Header{Account: account}, Data: reading(s.C, s.C>>3, p.engine.Now())}
		})
	case "operator":
		w.operate(g, s)
	case "snapshot":
		w.snapshot(g, s)
	case "epoch":
		w.renew(g, s)
	case "reload":
		w.reload(g, s)
	}
}

func (w *world) startOne(n uint32) {
	for i := range w.gates {
		if g := w.gates[(int(n)+i)%len(w.gates)]; g.proc == nil {
			w.start(g)
			return
		}
	}
}

func (w *world) wakeLate() {
	for _, p := range w.late {
		p.wake()
		w.settle()
	}
	w.late = nil
}

func (w *world) change(s *Step) {
	a := w.accounts[int(s.A)%len(w.accounts)].ID
	u := w.upstreams[a]
	u.mode = modes[int(s.B)%len(modes)]
	u.reset = w.now().Add(time.Duration(5+s.C%900) * time.Second)
	w.note("%s becomes %s", a, u.mode)
}

func (w *world) sever(g *gateway, s *Step) {
	if g.proc == nil {
		return
	}
	w.laws.outages++
	l := []link{cut, silent}[s.B%2]
	w.note("g%d is cut off (%d)", g.no, l)
	g.proc.port.set(l)
	if l == cut {
		for _, o := range w.desk.of(g.proc.port) {
			if o.stuck == 0 {
				w.desk.drop(o)
				o.granted <- grant{err: g.proc.port.refused()}
			}
		}
	}
}

func (w *world) healAll() {
	for _, g := range w.gates {
		if g.proc != nil && g.proc.port.state() != whole {
			w.note("g%d reaches the ledger again", g.no)
			g.proc.port.set(whole)
			w.laws.healed(g.proc)
		}
	}
}

// troubleAhead makes some of the next appends of a gateway go wrong.
func (w *world) troubleAhead(g *gateway, s *Step) {
	if g.proc == nil {
		return
	}
	f := []string{"lost", "unknown", "unknown", "slow"}[s.B%4]
	g.proc.port.mu.Lock()
	defer g.proc.port.mu.Unlock()
	for range 1 + s.C%6 { // more than a log tries: it gives up
		g.proc.port.faults = append(g.proc.port.faults, f)
	}
}

// stepClock moves a machine's clock, or the ledger's, by an hour. A process
// keeps the time that it started with.
func (w *world) stepClock(g *gateway, s *Step) {
	step := []time.Duration{time.Hour, -time.Hour, 3 * time.Second, -3 * time.Second}[s.B%4]
	if s.C%3 == 0 || !w.size.Skewed {
		w.note("the ledger's clock steps by %v", step)
		w.machine += step
		return
	}
	w.note("the clock of g%d steps by %v", g.no, step)
	g.drift += step
}

// tell makes a gateway record what is no decision. One call of a process at a
// time.
func (w *world) tell(g *gateway, what string, draft func(*process) events.Draft) {
	w.call(g, what, func(ctx context.Context, p *process) error {
		_, err := p.engine.Append(ctx, draft(p))
		return err
	})
}

func (w *world) call(g *gateway, what string, fn func(context.Context, *process) error) {
	p := g.proc
	if p == nil || p.engine == nil || p.busy {
		return
	}
	p.busy = true
	w.note("g%d: %s", g.no, what)
	go func() {
		err := fn(p.life, p)
		w.desk.tell(-100-g.no, func() {
			p.busy = false
			if err != nil {
				w.note("g%d: %s: %v", g.no, what, err)
			}
		})
	}()
	w.settle()
}

func (w *world) operate(g *gateway, s *Step) {
	account := w.accounts[int(s.B)%len(w.accounts)].ID
	act := events.OperatorAction{Actor: "operator", Reason: "simulated"}
	var p events.Payload
	switch s.C % 5 {
	case 0, 1:
		p = &events.OperatorReleased{OperatorAction: act}
	case 2:
		p = &events.OperatorDrained{OperatorAction: act}
	case 3:
		p = &events.OperatorUndrained{OperatorAction: act}
	case 4:
		act.Until = w.now().Add(time.Duration(1+s.C>>8%90) * time.Second)
		p = &events.OperatorParked{OperatorAction: act}
	}
	if p.Kind() == events.KindOperatorReleased {
		w.laws.served(account) // who said it acts on it at once
	}
	w.tell(g, p.Kind().String()+" "+account, func(*process) events.Draft {
		return events.Draft{Header: events.Header{Account: account}, Data: p}
	})
}

// renew gives an account another credential.
func (w *world) renew(g *gateway, s *Step) {
	e := &w.accounts[int(s.B)%len(w.accounts)]
	if g.proc == nil || g.proc.engine == nil || g.proc.busy {
		return
	}
	e.Epoch++
	id, epoch := e.ID, e.Epoch
	w.call(g, "a new credential of "+id, func(ctx context.Context, p *process) error { return p.engine.Renew(ctx, id, epoch) })
}

// reload changes the configuration and gives it to one gateway; the others get
// it when they start.
func (w *world) reload(g *gateway, s *Step) {
	doc := w.document
	switch s.B % 3 {
	case 0:
		doc.Policy.ReadingMaxAge = time.Duration(2+s.C%5) * time.Minute
	case 1:
		doc.Policy.WhenExhausted = events.WhenExhausted(s.C % 2)
	case 2:
		w.accounts[int(s.C)%len(w.accounts)].Settings.Weight = int64(1 + s.C>>4%5)
	}
	w.document = doc
	accounts := slices.Clone(w.accounts)
	w.call(g, "a reload", func(ctx context.Context, p *process) error {
		_, err := p.engine.Adopt(ctx, accounts, doc)
		return err
	})
}

// finish brings a world to rest: everything is repaired, every request ends,
// every gateway runs, and then all of them stop.
func (w *world) finish() {
	w.step++
	w.note("the end: everything is repaired")
	w.healAll()
	w.clearFaults()
	w.unstick(true)
	w.pass(100 * time.Millisecond)
	for i := 0; i < 60 && w.failure == nil && w.busy(); i++ {
		for _, r := range slices.Clone(w.open) {
			w.reply(r, 1)
		}
		w.pass(2 * time.Second)
		w.unstick(true)
	}
	for _, r := range w.requests {
		if !r.over && w.failure == nil {
			w.fail("request %d never ends", r.no)
		}
	}
	for _, g := range w.gates {
		w.start(g)
	}
	w.pass(45 * time.Second) // leases end, sweeps have been here
	w.settle()
	if w.failure == nil {
		w.checkAgreement()
	}
	for _, g := range w.gates {
		w.close(g)
	}
	w.settle()
	if w.failure == nil {
		w.laws.atTheEnd()
	}
}

func (w *world) busy() bool {
	return slices.ContainsFunc(w.requests, func(r *request) bool { return !r.over || r.attempt != nil && !r.proc.dead() })
}

func (w *world) clearFaults() {
	for _, g := range w.gates {
		if g.proc != nil {
			g.proc.port.clear()
		}
	}
}

// close ends a gateway: in good order, or at once when the world has failed.
func (w *world) close(g *gateway) {
	p := g.proc
	if p == nil {
		return
	}
	if p.engine != nil && w.failure == nil {
		w.shutdown(p)
	} else {
		w.crash(g)
	}
}
