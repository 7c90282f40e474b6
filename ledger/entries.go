package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/waybill/waybill/events"
)

// EntryBlock is how many positions share an account's entry in the stores that
// keep such entries: block b is the positions after b * EntryBlock up to
// (b + 1) * EntryBlock. It is part of their schemas.
const EntryBlock = 4096

// EntryName is how many bytes an account's name has at most that every such store
// has entries for.
const EntryName = 1024

// FaultIndex: what a store keeps to find an account's events by is not what the
// events say.
const FaultIndex = "index"

// Entries is implemented by stores that keep, for every block of positions,
// where an account's events are.
type Entries interface {
	// Entries calls fn for every entry of the blocks first to last, in any order.
	// Offsets, in two bytes each, big-endian, are how far behind the block's first
	// position the account's events lie, in any order; they are used again between
	// calls. For blocks that lie wholly in the span these were all entries; others
	// are archived, or have none yet.
	Entries(ctx context.Context, first, last uint64, fn func(block uint64, account string, offsets []byte) error) (Span, error)
}

// entriesAtOnce is how many blocks are compared with one look at the store.
const entriesAtOnce = 16

// EntryCheck holds what a store keeps of its accounts' events against the
// events, block by block, as a walk goes over them. Only blocks that were walked
// whole are compared. The nil one checks nothing.
type EntryCheck struct {
	store Entries
	first events.Position // that was walked without a gap since
	last  events.Position // that was walked
	said  map[entryKey][]byte
	wrong map[uint64]string // what is wrong in a block, by its number
}

type entryKey struct {
	block   uint64
	account string
}

// NewEntryCheck is one for a store, nil where it keeps no such entries.
func NewEntryCheck(s Store) *EntryCheck {
	p, ok := Part[Entries](s)
	if !ok {
		return nil
	}
	return &EntryCheck{store: p, said: map[entryKey][]byte{}, wrong: map[uint64]string{}}
}

// EntryCheck is one for the log's store.
func (l *Log) EntryCheck() *EntryCheck { return NewEntryCheck(l.store) }

// Next takes the row after the last one; after another, the walk begins anew.
func (c *EntryCheck) Next(ctx context.Context, r *Row) (*Fault, error) {
	if c == nil {
		return nil, nil
	}
	if c.first == 0 || r.Position != c.last+1 {
		clear(c.said)
		c.first = r.Position
	}
	c.last = r.Position
	block, offset := uint64(r.Position-1)/EntryBlock, uint64(r.Position-1)%EntryBlock
	if r.Account != "" && len(r.Account) <= EntryName {
		k := entryKey{block, r.Account}
		c.said[k] = binary.BigEndian.AppendUint16(c.said[k], uint16(offset))
	}
	if offset < EntryBlock-1 || block%entriesAtOnce < entriesAtOnce-1 {
		return nil, nil
	}
	return c.End(ctx)
}

// End compares the whole blocks that were walked and not compared yet.
func (c *EntryCheck) End(ctx context.Context) (*Fault, error) {
	if c == nil || c.first == 0 {
		return nil, nil
	}
	first, end := (uint64(c.first)+EntryBlock-2)/EntryBlock, uint64(c.last)/EntryBlock
	defer func() {
		clear(c.said)
		clear(c.wrong)
		c.first = c.last + 1
	}()
	if first >= end {
		return nil, nil
	}
	whole, err := c.store.Entries(ctx, first, end-1, func(block uint64, account string, offsets []byte) error {
		c.compare(block, account, offsets)
		return nil
	})
	switch {
	case errors.Is(err, ErrBroken):
		return &Fault{events.Position(first*EntryBlock + 1), FaultIndex, "what accounts are found by cannot be read: " + err.Error()}, nil
	case err != nil:
		return nil, fmt.Errorf("look at accounts' entries: %w", err)
	}
	for k := range c.said { // what no entry was there for
		c.blame(k.block, k.account)
	}
	for b := first; b < end; b++ {
		from, to := events.Position(b*EntryBlock+1), events.Position((b+1)*EntryBlock)
		if detail, ok := c.wrong[b]; ok && from >= whole.First && to <= whole.Last {
			return &Fault{from, FaultIndex, detail}, nil
		}
	}
	return nil, nil
}

// compare holds an entry against what the rows said.
func (c *EntryCheck) compare(block uint64, account string, offsets []byte) {
	if len(account) > EntryName {
		return
	}
	k := entryKey{block, account}
	if said, ok := c.said[k]; !ok || !sameOffsets(said, offsets) {
		c.blame(block, account)
	}
	delete(c.said, k)
}

// sameOffsets compares those that rows said with those that are stored.
func sameOffsets(said, stored []byte) bool {
	if len(said) != len(stored) || bytes.Equal(said, stored) {
		return len(said) == len(stored)
	}
	sorted := make([]uint16, len(stored)/2)
	for i := range sorted {
		sorted[i] = binary.BigEndian.Uint16(stored[2*i:])
	}
	slices.Sort(sorted)
	for i := range sorted {
		if sorted[i] != binary.BigEndian.Uint16(said[2*i:]) {
			return false
		}
	}
	return true
}

// blame notes the account, of several the first by name.
func (c *EntryCheck) blame(block uint64, account string) {
	detail := fmt.Sprintf("account %q is found by positions %d to %d otherwise than their events say", account, block*EntryBlock+1, (block+1)*EntryBlock)
	if before, ok := c.wrong[block]; !ok || detail < before {
		c.wrong[block] = detail
	}
}
