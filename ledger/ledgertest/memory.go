// Package ledgertest holds what every store must pass, and a store in memory
// that obeys the same contract and fails on command. It is for tests only.
package ledgertest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Memory is a ledger.Store without a disk. Its faults are set between commits.
type Memory struct {
	mu     sync.Mutex
	rows   []ledger.Row
	byID   map[uuid.UUID]int
	closed bool
	now    func() events.Time
	before []error // of the next commits: they do not take effect
	after  []error // of the next commits: they take effect all the same
	hold   chan struct{}
	count  int
	aside  [][]ledger.Row
}

// NewMemory is an empty store on the wall clock (or a bubble's).
func NewMemory() *Memory {
	return &Memory{byID: map[uuid.UUID]int{}, now: func() events.Time { return events.At(time.Now()) }}
}

// SetClock gives recorded_at another source.
func (m *Memory) SetClock(now func() events.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = now
}

// FailBefore makes the next commits fail, one for each error, without effect.
func (m *Memory) FailBefore(errs ...error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = append(m.before, errs...)
}

// FailAfter makes the next commits fail, one for each error, after they took
// effect: commit-unknown.
func (m *Memory) FailAfter(errs ...error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.after = append(m.after, errs...)
}

// Heal forgets faults that have not happened yet.
func (m *Memory) Heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, m.after = nil, nil
}

// Hold makes commits wait until the returned function is called.
func (m *Memory) Hold() (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch := make(chan struct{})
	m.hold = ch
	return sync.OnceFunc(func() {
		m.mu.Lock()
		if m.hold == ch {
			m.hold = nil
		}
		m.mu.Unlock()
		close(ch)
	})
}

// Commits is how many commits took effect.
func (m *Memory) Commits() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// Commit implements ledger.Store.
func (m *Memory) Commit(ctx context.Context, batch []events.Record) ([]ledger.Result, error) {
	m.mu.Lock()
	hold := m.hold
	m.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ledger.ErrClosed
	}
	if err := pop(&m.before); err != nil {
		return nil, err
	}
	results := make([]ledger.Result, len(batch))
	for i := range batch {
		results[i] = m.add(&batch[i])
	}
	m.count++
	if err := pop(&m.after); err != nil {
		return nil, err
	}
	return results, nil
}

func pop(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

func (m *Memory) add(r *events.Record) ledger.Result {
	if i, ok := m.byID[r.ID]; ok {
		old := &m.rows[i]
		if old.ContentHash() != r.ContentHash() {
			return ledger.Result{Err: ledger.ErrConflict}
		}
		return ledger.Result{Position: old.Position, RecordedAt: old.RecordedAt, Hash: old.Hash, Known: true}
	}
	h := m.head()
	row := ledger.Row{Record: *r, Position: h.Position + 1, RecordedAt: max(m.now(), h.RecordedAt+1)}
	row.Payload = bytes.Clone(r.Payload)
	row.Hash = events.Chain(h.Hash, row.Position, row.RecordedAt, r.ContentHash())
	m.byID[r.ID] = len(m.rows)
	m.rows = append(m.rows, row)
	return ledger.Result{Position: row.Position, RecordedAt: row.RecordedAt, Hash: row.Hash}
}

func (m *Memory) head() ledger.Head {
	if len(m.rows) == 0 {
		return ledger.Head{}
	}
	r := &m.rows[len(m.rows)-1]
	return ledger.Head{Position: r.Position, Hash: r.Hash, RecordedAt: r.RecordedAt}
}

// Head implements ledger.Store.
func (m *Memory) Head(context.Context) (ledger.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ledger.Head{}, ledger.ErrClosed
	}
	return m.head(), nil
}

// Scan implements ledger.Store.
func (m *Memory) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	for given := 0; limit == 0 || given < limit; {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.mu.Lock()
		if m.closed {
			m.mu.Unlock()
			return ledger.ErrClosed
		}
		if uint64(after) >= uint64(len(m.rows)) || (f.UpTo != 0 && after >= f.UpTo) {
			m.mu.Unlock()
			return nil
		}
		row := m.rows[after]
		m.mu.Unlock()
		after++
		if !matches(&row, &f) {
			continue
		}
		given++
		if err := fn(&row); err != nil {
			return err
		}
	}
	return nil
}

func matches(r *ledger.Row, f *ledger.Filter) bool {
	switch {
	case f.Account != "" && r.Account != f.Account,
		f.Request != uuid.Nil && r.Request != f.Request,
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, r.Kind),
		f.Since != 0 && r.RecordedAt < f.Since,
		f.Until != 0 && r.RecordedAt >= f.Until:
		return false
	}
	return true
}

// Size is about what the rows take, in bytes.
func (m *Memory) Size() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := 0
	for i := range m.rows {
		size += rowSize + len(m.rows[i].Payload)
	}
	return int64(size)
}

// rowSize is about what a row takes besides its payload.
const rowSize = 200

// Empty throws away every row if the newest is still the one at a position: it
// makes the store one that a spool can use.
func (m *Memory) Empty(at events.Position) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false, ledger.ErrClosed
	}
	if m.head().Position != at {
		return false, nil
	}
	m.rows = nil
	clear(m.byID)
	return true, nil
}

// SetAside keeps the rows away and makes the store empty.
func (m *Memory) SetAside() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return "", ledger.ErrClosed
	}
	m.aside = append(m.aside, m.rows)
	m.rows = nil
	clear(m.byID)
	return fmt.Sprint("memory ", len(m.aside)), nil
}

// Aside are the rows that were set aside last.
func (m *Memory) Aside() []ledger.Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.aside) == 0 {
		return nil
	}
	return m.aside[len(m.aside)-1]
}

// Tamper changes a stored row in place, as no ledger allows.
func (m *Memory) Tamper(p events.Position, change func(*ledger.Row)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.rows[p-1])
}

// Close implements ledger.Store. The rows stay for Reopen.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// Reopen takes the store into use again, as a restart would.
func (m *Memory) Reopen() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = false
	return m
}
