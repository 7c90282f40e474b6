package ledger

import (
	"fmt"

	"github.com/waybill/waybill/events"
)

// batch is what one commit takes. Its memory is used again.
type batch struct {
	records []events.Record
	tickets []*Ticket // the ticket of each record
	drafts  []*events.Draft
	arena   []byte
	codec   events.Codec
	results []Result // of its commit
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
