package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/mux"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/story"
)

const (
	maxJobs     = 16 // that are remembered
	maxRunning  = 4  // that wait or run
	jobDeadline = 30 * time.Minute
)

// jobs are questions that take longer than a page may: they run in the
// background, a page looks at them, and their results are kept for a while.
type jobs struct {
	mu   sync.Mutex
	next uint64
	all  []*job // oldest first
	busy int    // how many wait or run, those that all has forgotten too
	wait sync.WaitGroup
	life context.Context // of all of them
	end  context.CancelFunc
}

// question is what a job answers.
type question struct {
	Title string
	Page  string     // the template that shows the answer
	Back  string     // where it was asked
	Form  url.Values // what was typed there
	ask   func(ctx context.Context, tell func(done, head events.Position)) (any, error)
}

// job is a question under way or answered. Its members after mu are guarded by it.
type job struct {
	question
	ID      string
	Started events.Time
	cancel  context.CancelFunc

	mu         sync.Mutex
	done, head events.Position
	result     any
	err        error
	ended      events.Time
}

func newJobs() *jobs {
	j := &jobs{}
	j.life, j.end = context.WithCancel(context.Background())
	return j
}

var errBusy = errors.New("too many questions are being answered; wait for one, or cancel it")

// run starts a question. It ends by itself after jobDeadline.
func (j *jobs) run(now func() events.Time, q question) (*job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.busy >= maxRunning {
		return nil, errBusy
	}
	j.next++
	j.busy++
	ctx, cancel := context.WithTimeout(j.life, jobDeadline)
	b := &job{ID: fmt.Sprint(j.next), question: q, Started: now(), cancel: cancel}
	if j.all = append(j.all, b); len(j.all) > maxJobs {
		j.all = j.all[1:]
	}
	j.wait.Go(func() {
		defer cancel()
		result, err := q.ask(ctx, b.tell)
		b.finish(result, err, now())
		j.mu.Lock()
		defer j.mu.Unlock()
		j.busy--
	})
	return b, nil
}

func (j *jobs) find(id string) *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.all {
		if b.ID == id {
			return b
		}
	}
	return nil
}

// last is the newest question that a page shows.
func (j *jobs) last(page string) *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := len(j.all) - 1; i >= 0; i-- {
		if j.all[i].Page == page {
			return j.all[i]
		}
	}
	return nil
}

// close cancels everything and waits for it.
func (j *jobs) close() {
	j.end()
	j.wait.Wait()
}

func (b *job) finish(result any, err error, at events.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.result, b.err, b.ended = result, err, at
}

func (b *job) tell(done, head events.Position) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.head = done, head
}

// jobState is a question as a page shows it.
type jobState struct {
	ID, Title  string
	Ended      bool
	Done, Head events.Position
	Percent    int
	Took       string
	Failed     string
	Result     any
}

// State is how far the question is.
func (b *job) State() jobState {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := jobState{ID: b.ID, Title: b.Title, Ended: b.ended != 0, Done: b.done, Head: b.head, Result: b.result}
	if b.head > 0 {
		s.Percent = int(100 * b.done / b.head)
	}
	if s.Ended {
		s.Took = story.Span(b.ended.Sub(b.Started))
	}
	if b.err != nil {
		s.Failed = b.err.Error()
		if errors.Is(b.err, context.Canceled) {
			s.Failed = "cancelled"
		}
	}
	return s
}

// toJob goes to where a question was asked, and there to its answer.
func (v *visit) toJob(b *job) error {
	http.Redirect(v.w, v.r, v.frame.URL(b.Back, "job", b.ID)+"#job", http.StatusSeeOther)
	return nil
}

// jobPage shows a question under way, or its result.
func jobPage(v *visit) error {
	b := v.c.jobs.find(mux.Vars(v.r)["job"])
	if b == nil {
		return notFound("That question is not known any more: results are kept in memory, and only the last few.")
	}
	if v.partial() {
		return v.part(b.Page, "job", b.State())
	}
	return v.toJob(b)
}

func cancelJob(v *visit) error {
	b := v.c.jobs.find(mux.Vars(v.r)["job"])
	if b == nil {
		return notFound("That question is not known any more.")
	}
	b.cancel()
	return v.toJob(b)
}
