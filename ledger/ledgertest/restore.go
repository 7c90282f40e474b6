package ledgertest

import (
	"bytes"
	"context"
	"fmt"

	"github.com/waybill/waybill/ledger"
)

// Restore implements ledger.Restorer.
func (m *Memory) Restore(_ context.Context, rows []ledger.Row) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ledger.ErrClosed
	}
	head := m.head()
	for i := range rows {
		r := &rows[i]
		if f := head.Follows(r, r.ContentHash()); f != nil {
			return f
		}
		if _, taken := m.byID[r.ID]; taken {
			return fmt.Errorf("event %s at %d: its id is taken", r.ID, r.Position)
		}
		head = ledger.Head{Position: r.Position, Hash: r.Hash, RecordedAt: r.RecordedAt}
	}
	for i := range rows {
		row := rows[i]
		row.Payload = bytes.Clone(row.Payload)
		m.byID[row.ID] = len(m.rows)
		m.rows = append(m.rows, row)
	}
	m.count++
	return nil
}
