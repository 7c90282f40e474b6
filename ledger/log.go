package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// Urgency says how soon a submitted draft must start a commit.
type Urgency uint8

const (
	// Awaited says that somebody waits for it; a commit starts at once.
	Awaited Urgency = iota
	// Behind says that it rides with the next commit, or starts one after 5 ms.
	Behind
)

// Options bound a Log. Zero members take the defaults in brackets.
type Options struct {
	Queue      int           // drafts that wait to be committed [8192]
	Batch      int           // drafts that one commit takes [1000]
	BatchBytes int           // payload bytes that one commit takes [1 MiB]
	Linger     time.Duration // how long a Behind draft waits for company [5ms]
	Retries    int           // further tries of a failed commit [6]
	Backoff    time.Duration // before the first of them, doubled up to 500ms [10ms]
	Timeout    time.Duration // of one try [10s]
	Poll       time.Duration // how often followers look at a shared store [100ms]
	Tail       int           // committed events kept for followers [4096]
	Bus        Bus           // wakes replicas; nil: the store's own, where it has one
}

func (o Options) filled() Options {
	def(&o.Queue, 8192)
	def(&o.Batch, 1000)
	def(&o.BatchBytes, 1<<20)
	def(&o.Linger, 5*time.Millisecond)
	def(&o.Retries, 6)
	def(&o.Backoff, 10*time.Millisecond)
	def(&o.Timeout, 10*time.Second)
	def(&o.Poll, 100*time.Millisecond)
	def(&o.Tail, 4096)
	return o
}

func def[T int | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// Log is an open ledger: group commit over a Store, ordered reads, wake-ups.
// Safe for concurrent use.
type Log struct {
	store Store
	opt   Options
	tail  *tail

	ctx    context.Context // ends when the log is closed
	cancel context.CancelFunc
	trying context.Context // ends when a commit is no longer waited for
	giveUp context.CancelFunc
	wake   chan struct{} // the committer has something to look at
	done   chan struct{} // the committer has ended
	close  sync.Once
	closed error // of the store's Close

	mu     sync.Mutex
	queue  []*Ticket
	queued int  // drafts in queue
	urgent bool // one of them is awaited
	ending bool
	gate   map[uuid.UUID]uint64 // writer: the sequence number that it must submit next

	hashes hashes

	deaf atomic.Pointer[error] // why other processes' wake-ups do not come; nil when they do
}

// Open puts group commit over a store. The log owns the store from then on.
func Open(store Store) *Log { return OpenWith(store, Options{}) }

// OpenWith is Open with bounds of one's own.
func OpenWith(store Store, o Options) *Log {
	l := &Log{
		store: store, opt: o.filled(), gate: map[uuid.UUID]uint64{},
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	l.tail = newTail(l.opt.Tail)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.trying, l.giveUp = context.WithCancel(context.Background())
	go l.run()
	if s, ok := Part[Shared](store); ok {
		go l.watch(s)
	}
	if o.Bus != nil {
		go l.watch(o.Bus)
	}
	return l
}

// Append commits drafts and returns them as events once they are durable, in
// order. Known ids answer with the recorded event; a draft whose id is taken
// by other content makes the error ErrConflict, its place zero, the others
// committed. The caller's context ends its wait, never the commit.
func (l *Log) Append(ctx context.Context, drafts ...events.Draft) ([]events.Event, error) {
	return l.Submit(Awaited, drafts...).Wait(ctx)
}

// Submit queues drafts and returns at once; drafts submitted one after another
// commit in that order. The drafts and their payloads belong to the log from
// then on. A full queue fails the ticket with ErrBackpressure.
//
// A writer's events commit in the order of its WriterSeq, whatever happens: once
// one of them could not be taken (ErrBackpressure, ErrUnavailable), later ones
// are refused with ErrUnavailable until that very one is submitted again.
func (l *Log) Submit(u Urgency, drafts ...events.Draft) *Ticket {
	t := &Ticket{drafts: drafts}
	if len(drafts) == 0 {
		t.resolve(nil)
		return t
	}
	l.mu.Lock()
	err := l.admit(drafts)
	if err != nil {
		l.shut(drafts)
		l.mu.Unlock()
		t.resolve(err)
		return t
	}
	poke := len(l.queue) == 0 || (u == Awaited && !l.urgent) || l.queued < l.opt.Batch && l.queued+len(drafts) >= l.opt.Batch
	l.queue = append(l.queue, t)
	l.queued += len(drafts)
	l.urgent = l.urgent || u == Awaited
	l.mu.Unlock()
	if poke {
		l.poke()
	}
	return t
}

// admit says whether drafts may be queued. The caller holds the lock.
func (l *Log) admit(drafts []events.Draft) error {
	if l.ending {
		return ErrClosed
	}
	if l.queued+len(drafts) > l.opt.Queue {
		return ErrBackpressure
	}
	if len(l.gate) == 0 {
		return nil
	}
	return l.pass(drafts)
}

// pass lets a writer through its gate in order, all drafts or none.
func (l *Log) pass(drafts []events.Draft) error {
	next := map[uuid.UUID]uint64{}
	for i := range drafts {
		w, seq := drafts[i].Writer, drafts[i].WriterSeq
		want, shut := next[w]
		if !shut {
			want, shut = l.gate[w]
		}
		if !shut || seq == 0 || seq < want {
			continue
		}
		if seq > want {
			return fmt.Errorf("%w: event %d of writer %s must come first", ErrUnavailable, want, w)
		}
		next[w] = want + 1
	}
	for w, want := range next {
		l.gate[w] = want
	}
	return nil
}

// shut closes the gates of the writers whose drafts were not taken. The caller
// holds the lock.
func (l *Log) shut(drafts []events.Draft) {
	for i := range drafts {
		w, seq := drafts[i].Writer, drafts[i].WriterSeq
		if want, ok := l.gate[w]; seq != 0 && (!ok || seq < want) {
			l.gate[w] = seq
		}
	}
}

// Restart forgets that a writer must submit an event again: the writer knows
// that nothing of it before what it submits next is missing, since it has seen
// as committed what was only of unknown outcome here.
func (l *Log) Restart(writer uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.gate, writer)
}

func (l *Log) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Writers tells which other writers are alive; nil when this process is the
// only one that the store lets append.
func (l *Log) Writers() Writers {
	w, _ := Part[Writers](l.store)
	return w
}

// Head is the last committed event's place.
func (l *Log) Head(ctx context.Context) (Head, error) { return l.store.Head(ctx) }

// Queued is how many drafts wait to be committed.
func (l *Log) Queued() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queued
}

// closing is how long Close waits for a store that does not answer.
const closing = 2 * time.Second

// Close commits what is queued, ends followers, then closes the store. What a
// store that does not answer may have taken is then of unknown outcome.
func (l *Log) Close() error {
	l.close.Do(func() {
		l.mu.Lock()
		l.ending = true
		l.mu.Unlock()
		l.poke()
		limit := time.AfterFunc(closing, l.giveUp)
		<-l.done
		limit.Stop()
		l.giveUp()
		l.cancel()
		l.closed = l.store.Close()
	})
	return l.closed
}

// Deaf says why wake-ups from other processes do not come, nil when they do.
// Followers look every Options.Poll meanwhile.
func (l *Log) Deaf() error {
	if err := l.deaf.Load(); err != nil {
		return *err
	}
	return nil
}

// watch lets a store or a bus say when another process has appended.
func (l *Log) watch(from Shared) {
	for l.ctx.Err() == nil {
		err := from.Watch(l.ctx, func() {
			l.deaf.Store(nil)
			l.tail.poke()
		})
		if err == nil || errors.Is(err, context.Canceled) {
			return
		}
		l.deaf.Store(&err)
		Rest(l.ctx, l.opt.Poll) // followers poll meanwhile
	}
}
