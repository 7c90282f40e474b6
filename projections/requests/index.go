package requests

import (
	"encoding/binary"
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

// Index says what a segment may hold, so that a question reads those alone that
// may answer it.
type Index struct {
	From, At   events.Position
	Rows       uint32
	Low, High  events.Position // of the first positions of its rows
	OpenLow    events.Position // of what was open at its end; 0: nothing was
	Since      events.Time     // when its first row began
	Until      events.Time     // and its last
	Outcomes   uint32          // a bit for each
	Clients    names
	Models     names
	Tried      []uint32
	Skipped    []uint32
	Overridden []Override // rows that began before it: what earlier segments say of them counts no more

	sessions []byte // a Bloom filter
}

// Override names a row that a later segment holds anew.
type Override struct {
	First events.Position
	ID    [16]byte
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
	x := &Index{From: s.From, At: s.At, Rows: uint32(len(s.Ended)), sessions: make([]byte, (len(s.Ended)*bloomBits+7)/8)}
	tried, skipped := map[uint32]bool{}, map[uint32]bool{}
	for _, r := range s.Ended {
		x.row(r, tried, skipped)
	}
	if len(s.Open) > 0 {
		x.OpenLow = s.Open[0].First
	}
	x.Tried, x.Skipped = sorted(tried), sorted(skipped)
	return x
}

func (x *Index) row(r *Row, tried, skipped map[uint32]bool) {
	if x.Low == 0 || r.First < x.Low {
		x.Low = r.First
	}
	if x.Since == 0 || r.Started < x.Since {
		x.Since = r.Started
	}
	x.High, x.Until = max(x.High, r.First), max(x.Until, r.Started)
	x.Outcomes |= 1 << r.Outcome
	x.Clients.add(r.Client)
	x.Models.add(r.Asked)
	for _, n := range r.Tried {
		tried[n] = true
	}
	for _, n := range r.Skipped {
		skipped[n] = true
	}
	for _, bit := range x.bits(r.Session) {
		x.sessions[bit/8] |= 1 << (bit % 8)
	}
	if r.First <= x.From {
		x.Overridden = append(x.Overridden, Override{r.First, r.ID})
	}
}

func sorted(set map[uint32]bool) []uint32 {
	out := make([]uint32, 0, len(set))
	for n := range set {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// bits are where a session stands in the filter.
func (x *Index) bits(d events.Digest) [2]uint64 {
	n := uint64(len(x.sessions)) * 8
	return [2]uint64{binary.BigEndian.Uint64(d[:8]) % n, binary.BigEndian.Uint64(d[8:16]) % n}
}

func (x *Index) session(d events.Digest) bool {
	for _, bit := range x.bits(d) {
		if x.sessions[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

// May says whether the segment may hold a row that is asked for.
func (x *Index) May(v *View, q *Query) bool {
	switch {
	case x.Rows == 0,
		q.Since != 0 && x.Until < q.Since,
		q.Until != 0 && x.Since >= q.Until,
		q.Outcome != nil && x.Outcomes&(1<<*q.Outcome) == 0,
		q.Account != "" && !v.has(x.Tried, q.Account),
		q.Skipped != "" && !v.has(x.Skipped, q.Skipped),
		!x.Clients.may(q.Client), !x.Models.may(q.Model),
		q.Before != 0 && x.Low >= q.Before,
		q.After != 0 && x.High <= q.After:
		return false
	}
	sessions := x.Sessions(q)
	return sessions == nil || slices.ContainsFunc(sessions, x.session)
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
	if x.Rows > 0 && len(x.sessions) == 0 {
		c.Fail()
	}
	return x, c.Close()
}

func (x *Index) state(c *canon.Coder) {
	for _, p := range []*events.Position{&x.From, &x.At, &x.Low, &x.High, &x.OpenLow} {
		canon.Uint(c, p)
	}
	canon.Uint(c, &x.Rows)
	canon.Int(c, &x.Since)
	canon.Int(c, &x.Until)
	canon.Uint(c, &x.Outcomes)
	x.Clients.state(c)
	x.Models.state(c)
	canon.Slice(c, &x.Tried, canon.Uint[uint32])
	canon.Slice(c, &x.Skipped, canon.Uint[uint32])
	canon.Slice(c, &x.Overridden, func(c *canon.Coder, o *Override) {
		canon.Uint(c, &o.First)
		c.Fixed(o.ID[:])
	})
	s := string(x.sessions)
	c.String(&s)
	x.sessions = []byte(s)
}
