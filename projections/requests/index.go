package requests

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/canon"
)

const (
	// maxNamed bounds the names that an index lists; a segment with more may hold
	// any.
	maxNamed = 256
	// bloomBits is the bits of the filter per session, two of which are set.
	bloomBits = 12
)

// Index says what a segment may hold, and which part of it, so that a question
// reads those parts alone that may answer it.
type Index struct {
	From, At   events.Position
	OpenLow    events.Position // first position of what was open at its end; 0: nothing was
	Clients    names
	Models     names
	Parts      []Part
	Overridden []RowKey // rows that began before it: what earlier segments say of them counts no more
}

// Part says what a part of a segment may hold.
type Part struct {
	Low, High    events.Position // of the first positions of its rows
	Since, Until events.Time     // when the first of its rows began, and the last
	Outcomes     uint32          // a bit for each
	Tried        []uint32
	Skipped      []uint32

	sessions []byte // a Bloom filter
}

// names are all that occur, or any when there are too many.
type names struct {
	any  bool
	list []string
}

func (n *names) add(s string) {
	if n.any || slices.Contains(n.list, s) {
		return
	}
	if n.list = append(n.list, s); len(n.list) > maxNamed {
		n.any, n.list = true, nil
	}
}

func (n *names) may(s string) bool { return s == "" || n.any || slices.Contains(n.list, s) }

func (n *names) state(c *canon.Coder) {
	c.Bool(&n.any)
	canon.Slice(c, &n.list, (*canon.Coder).String)
}

// Index sums the segment up.
func (s *Segment) Index() *Index {
	x := &Index{From: s.From, At: s.At}
	if len(s.open) > 0 {
		x.OpenLow = s.open[0].First
	}
	for n := range s.Parts() {
		x.Parts = append(x.Parts, partOfRows(s.part(n)))
	}
	for _, r := range s.Ended {
		x.Clients.add(r.Client)
		x.Models.add(r.Asked)
		if r.First <= x.From {
			x.Overridden = append(x.Overridden, r.Key())
		}
	}
	return x
}

func partOfRows(list []*Row) Part {
	p := Part{Low: list[0].First, Since: list[0].Started, sessions: make([]byte, (len(list)*bloomBits+7)/8)}
	tried, skipped := map[uint32]bool{}, map[uint32]bool{}
	for _, r := range list {
		p.Low, p.High = min(p.Low, r.First), max(p.High, r.First)
		p.Since, p.Until = min(p.Since, r.Started), max(p.Until, r.Started)
		p.Outcomes |= 1 << r.Outcome
		for _, n := range r.Tried {
			tried[n] = true
		}
		for _, n := range r.Skipped {
			skipped[n] = true
		}
		for _, bit := range p.bits(r.Session) {
			p.sessions[bit/8] |= 1 << (bit % 8)
		}
	}
	p.Tried, p.Skipped = slices.Sorted(maps.Keys(tried)), slices.Sorted(maps.Keys(skipped))
	return p
}

// bits are where a session stands in the filter.
func (p *Part) bits(d events.Digest) [2]uint64 {
	n := uint64(len(p.sessions)) * 8
	return [2]uint64{binary.BigEndian.Uint64(d[:8]) % n, binary.BigEndian.Uint64(d[8:16]) % n}
}

func (p *Part) session(d events.Digest) bool {
	for _, bit := range p.bits(d) {
		if p.sessions[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

// May lists the parts that may hold a row that is asked for.
func (x *Index) May(v *View, q *Query) (parts []int) {
	if !x.Clients.may(q.Client) || !x.Models.may(q.Model) {
		return nil
	}
	sessions := x.Sessions(q)
	for n := range x.Parts {
		if x.Parts[n].may(v, q, sessions) {
			parts = append(parts, n)
		}
	}
	return parts
}

func (p *Part) may(v *View, q *Query, sessions []events.Digest) bool {
	switch {
	case q.Since != 0 && p.Until < q.Since,
		q.Until != 0 && p.Since >= q.Until,
		q.Outcome != nil && p.Outcomes&(1<<*q.Outcome) == 0,
		q.Account != "" && !v.has(p.Tried, q.Account),
		q.Skipped != "" && !v.has(p.Skipped, q.Skipped),
		q.Before != 0 && p.Low >= q.Before,
		q.After != 0 && p.High <= q.After:
		return false
	}
	return sessions == nil || slices.ContainsFunc(sessions, p.session)
}

// Highest is the highest first position of a row in the first n parts, or before
// the segment.
func (x *Index) Highest(n int) events.Position {
	high := x.From
	for i := range x.Parts[:n] {
		high = max(high, x.Parts[i].High)
	}
	return high
}

// Sessions are the digests that the session which is asked for may have here:
// its own, and those of the name that each client may have given it. nil: any.
func (x *Index) Sessions(q *Query) []events.Digest {
	if q.Session == "" || q.Client == "" && x.Clients.any {
		return nil
	}
	out := []events.Digest{}
	if d, ok := events.ParseDigest(q.Session); ok {
		out = append(out, d)
	}
	if q.Client != "" {
		return append(out, events.SessionDigest(q.Client, q.Session))
	}
	for _, client := range x.Clients.list {
		out = append(out, events.SessionDigest(client, q.Session))
	}
	return out
}

// AppendState appends the index.
func (x *Index) AppendState(b []byte) []byte {
	c := canon.Writer(b)
	x.state(c)
	return c.Bytes()
}

// ReadIndex reads what AppendState wrote.
func ReadIndex(b []byte) (*Index, error) {
	x := &Index{}
	c := canon.Reader(b)
	x.state(c)
	return x, c.Close()
}

func (x *Index) state(c *canon.Coder) {
	canon.Uint(c, &x.From)
	canon.Uint(c, &x.At)
	canon.Uint(c, &x.OpenLow)
	x.Clients.state(c)
	x.Models.state(c)
	canon.Slice(c, &x.Parts, func(c *canon.Coder, p *Part) { p.state(c) })
	canon.Slice(c, &x.Overridden, func(c *canon.Coder, o *RowKey) {
		canon.Uint(c, &o.First)
		c.Fixed(o.ID[:])
	})
}

func (p *Part) state(c *canon.Coder) {
	canon.Uint(c, &p.Low)
	canon.Uint(c, &p.High)
	canon.Int(c, &p.Since)
	canon.Int(c, &p.Until)
	canon.Uint(c, &p.Outcomes)
	canon.Numbers(c, &p.Tried)
	canon.Numbers(c, &p.Skipped)
	s := string(p.sessions)
	c.String(&s)
	if p.sessions = []byte(s); s == "" {
		c.Fail()
	}
}
