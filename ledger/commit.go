package ledger

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/waybill/waybill/events"
)

// run is the committer: the one goroutine that calls Commit.
func (l *Log) run() {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	b := &batch{}
	for l.await(timer) {
		runtime.Gosched() // those who can run now submit first: fewer, larger commits under load, no delay without
		work := l.take()
		for len(work) > 0 {
			work = b.fill(work, l.opt)
			if err := l.commit(b); err != nil {
				l.abandon(b, work, err)
				work = nil
			}
		}
	}
}

// await blocks until a commit is due; false when the log is closed and empty.
func (l *Log) await(timer *time.Timer) bool {
	for {
		l.mu.Lock()
		empty, ending := len(l.queue) == 0, l.ending
		due := !empty && (l.urgent || ending || l.queued >= l.opt.Batch)
		l.mu.Unlock()
		switch {
		case due:
			return true
		case empty && ending:
			return false
		case empty:
			<-l.wake
		default:
			timer.Reset(l.opt.Linger)
			select {
			case <-l.wake:
			case <-timer.C:
				return true
			}
		}
	}
}

// take empties the queue.
func (l *Log) take() []*Ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	work := l.queue
	l.queue, l.queued, l.urgent = nil, 0, false
	return work
}

// batch is what one commit takes. Its memory is used again.
type batch struct {
	records []events.Record
	tickets []*Ticket // the ticket of each record
	drafts  []*events.Draft
	arena   []byte
	codec   events.Codec
}

// fill seals drafts from the tickets, up to the bounds of a batch, and returns
// the tickets that have drafts left.
func (b *batch) fill(work []*Ticket, o Options) []*Ticket {
	clear(b.tickets)
	clear(b.drafts)
	b.records, b.tickets, b.drafts, b.arena = b.records[:0], b.tickets[:0], b.drafts[:0], b.arena[:0]
	bytes := 0
	for len(work) > 0 {
		t := work[0]
		for t.taken < len(t.drafts) {
			if len(b.records) == o.Batch || bytes >= o.BatchBytes {
				return work
			}
			d := &t.drafts[t.taken]
			t.taken++
			r, err := b.seal(d)
			if err != nil {
				t.cut(err)
				break
			}
			bytes += len(r.Payload)
			b.records = append(b.records, r)
			b.tickets = append(b.tickets, t)
			b.drafts = append(b.drafts, d)
		}
		work = work[1:]
	}
	return nil
}

// seal encodes into the batch's memory. A payload that panics costs its own
// ticket, nobody else's.
func (b *batch) seal(d *events.Draft) (r events.Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("seal event %s: %v", d.ID, p)
		}
	}()
	at := len(b.arena)
	r = b.codec.SealTo(b.arena[at:], d)
	if at+len(r.Payload) <= cap(b.arena) {
		b.arena = b.arena[:at+len(r.Payload)]
	} else {
		b.arena = make([]byte, 0, 2*cap(b.arena)+len(r.Payload)+4096)
	}
	return r, nil
}

// cut drops the ticket's drafts from the one on that cannot be stored.
func (t *Ticket) cut(err error) {
	t.taken--
	t.drafts = t.drafts[:t.taken]
	t.settle(0, err)
}

// settle counts drafts whose outcome is known, and resolves the ticket with
// its last one. The first error stands.
func (t *Ticket) settle(n int, err error) {
	if t.err == nil {
		t.err = err
	}
	if t.placed += n; t.placed == len(t.drafts) {
		t.resolve(nil)
	}
}

// commit makes the batch durable, hands it to followers, then to the tickets.
func (l *Log) commit(b *batch) error {
	if len(b.records) == 0 {
		return nil
	}
	results, err := l.persist(b.records)
	if err != nil {
		return err
	}
	evs, fresh := b.place(results)
	l.tail.push(fresh)
	head := newest(results)
	l.tail.advance(head) // also what an earlier try of unknown outcome had added
	if l.opt.Bus != nil && len(fresh) > 0 {
		l.opt.Bus.Ring(head)
	}
	b.settle(evs, results)
	return nil
}

// newest is the highest position of a commit.
func newest(results []Result) (p events.Position) {
	for i := range results {
		p = max(p, results[i].Position)
	}
	return p
}

// place turns drafts into events, and picks those that this commit added.
func (b *batch) place(results []Result) (evs, fresh []events.Event) {
	evs = make([]events.Event, len(results))
	all := true
	for i := range results {
		e, d, res := &evs[i], b.drafts[i], &results[i]
		e.Header, e.Data = d.Header, d.Data
		e.Position, e.RecordedAt, e.Hash = res.Position, res.RecordedAt, res.Hash
		all = all && !res.Known && res.Err == nil
	}
	if all {
		return evs, evs
	}
	for i := range results {
		if !results[i].Known && results[i].Err == nil {
			fresh = append(fresh, evs[i])
		}
	}
	return evs, fresh
}

// settle gives each ticket its run of the batch's events.
func (b *batch) settle(evs []events.Event, results []Result) {
	for i := 0; i < len(evs); {
		t, from := b.tickets[i], i
		var err error
		for ; i < len(evs) && b.tickets[i] == t; i++ {
			if results[i].Err != nil && err == nil {
				err = fmt.Errorf("append event %s: %w", evs[i].ID, results[i].Err)
			}
		}
		if t.events == nil {
			t.events = evs[from:i:i]
		} else {
			t.events = append(t.events, evs[from:i]...)
		}
		t.settle(i-from, err)
	}
}

// persist calls Commit until it succeeds, a bounded number of times, always
// with the same ids: a try whose outcome is unknown is harmless to repeat.
func (l *Log) persist(records []events.Record) ([]Result, error) {
	delay := l.opt.Backoff
	for try := 0; ; try++ {
		results, err := l.try(records)
		if err == nil {
			return results, nil
		}
		if try == l.opt.Retries || errors.Is(err, ErrClosed) || errors.Is(err, ErrBroken) || l.trying.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		time.Sleep(delay)
		delay = min(2*delay, 500*time.Millisecond)
	}
}

// try is one Commit, detached from every caller's context.
func (l *Log) try(records []events.Record) (results []Result, err error) {
	ctx, cancel := context.WithTimeout(l.trying, l.opt.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("commit: panic: %v", p)
		}
	}()
	results, err = l.store.Commit(ctx, records)
	if err == nil && len(results) != len(records) {
		err = fmt.Errorf("commit: %d results for %d records", len(results), len(records))
	}
	return results, err
}

// abandon fails what could not be committed and everything that was submitted
// behind it: nothing may overtake.
func (l *Log) abandon(b *batch, work []*Ticket, err error) {
	var failed []*Ticket
	for i, t := range b.tickets {
		if i == 0 || t != b.tickets[i-1] {
			failed = append(failed, t)
		}
	}
	for _, t := range work {
		if len(failed) == 0 || failed[len(failed)-1] != t {
			failed = append(failed, t)
		}
	}
	l.mu.Lock()
	failed = append(failed, l.queue...)
	l.queue, l.queued, l.urgent = nil, 0, false
	for _, t := range failed {
		l.shut(t.drafts[t.placed:])
	}
	l.mu.Unlock()
	for _, t := range failed {
		t.resolve(err)
	}
}
