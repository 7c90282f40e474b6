package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
)

// run is the committer: the one goroutine that calls Commit. While a commit is
// under way the one before it is told of, as long as there is more to commit.
func (l *Log) run() {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	t := newTeller(l.tell)
	defer t.end()
	b := &batch{}
	for l.await(timer) {
		for work := l.take(); len(work) > 0; {
			work = b.fill(work, l.opt)
			var err error
			switch b.results, err = l.persist(b.records); {
			case err != nil:
				t.rest()
				l.abandon(b, work, err)
				work = nil
			case len(work) == 0 && l.Queued() > 0:
				b = t.hand(b)
			default: // nothing to do meanwhile, or a ticket that goes on in the next batch
				t.rest()
				l.tell(b)
			}
		}
	}
}

// tell hands a committed batch to followers, then to the tickets.
func (l *Log) tell(b *batch) {
	evs, fresh := b.place(b.results)
	l.tail.push(fresh)
	head := newest(b.results)
	l.tail.advance(head) // also what an earlier try of unknown outcome had added
	if l.opt.Bus != nil && len(fresh) > 0 {
		l.opt.Bus.Ring(head)
	}
	b.settle(evs, b.results)
}

// teller tells of committed batches on a goroutine of its own, one after
// another. One batch's memory is with it, the other with the committer.
type teller struct{ committed, told chan *batch }

func newTeller(tell func(*batch)) teller {
	t := teller{committed: make(chan *batch, 1), told: make(chan *batch, 1)}
	t.told <- &batch{}
	go func() {
		for b := range t.committed {
			tell(b)
			t.told <- b
		}
	}()
	return t
}

// hand gives a batch over, once those before it were told of, and returns the
// memory for the next one.
func (t teller) hand(b *batch) *batch {
	next := <-t.told
	t.committed <- b
	return next
}

// rest waits until all are told of.
func (t teller) rest() { t.told <- <-t.told }

func (t teller) end() {
	t.rest()
	close(t.committed)
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

// newest is the highest position of a commit.
func newest(results []Result) (p events.Position) {
	for i := range results {
		p = max(p, results[i].Position)
	}
	return p
}

// persist calls Commit until it succeeds, a bounded number of times, always
// with the same ids: a try whose outcome is unknown is harmless to repeat.
func (l *Log) persist(records []events.Record) ([]Result, error) {
	if len(records) == 0 {
		return nil, nil
	}
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
