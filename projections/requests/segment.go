package requests

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/canon"
)

// Segments is the name that the segments of the history are stored under, and
// Indexes the one of their indexes. Their version is the view's.
const (
	Segments = "requests.segments"
	Indexes  = "requests.index"
)

// Segment is the history of requests from one position to another: what ended
// there, in order of ending, and what was open at its end. A row that changed
// after its end (it was lost, and then its true outcome came) stands in the
// segment of the change once more, and what stands there counts. Segments that
// follow each other give the view at the end of the last.
type Segment struct {
	From, At events.Position // after From, up to At
	Open     []*Row
	Ended    []*Row

	head View // what else the view holds: names, lists, the last trouble
}

// Record makes the view note what ends from here on, for segments. A view that
// adopts a joined one goes on in the midst of its newest segment.
func (v *View) Record() { v.recording, v.from, v.noted = true, v.at, nil }

// note takes a row that ends, or changes after its end.
func (v *View) note(r *Row) {
	if v.recording {
		v.noted = append(v.noted, r)
	}
}

// touch takes a row that is about to change though it has ended.
func (v *View) touch(r *Row) {
	if r.Outcome != Open {
		v.note(r)
	}
}

// AppendSegment appends what was noted since Record or Cut, and what is open.
func (v *View) AppendSegment(b []byte) []byte {
	c := canon.Writer(b)
	s := v.segment()
	s.state(c)
	return c.Bytes()
}

// segment is what was noted; it shares its rows with the view.
func (v *View) segment() *Segment {
	s := &Segment{From: v.from, At: v.at, Open: v.openRows(), head: *v}
	seen := make(map[*Row]bool, len(v.noted))
	for _, r := range v.noted {
		if !seen[r] {
			seen[r] = true
			s.Ended = append(s.Ended, r)
		}
	}
	return s
}

// Cut says that the segment is stored: the next one begins here.
func (v *View) Cut() { v.from, v.noted = v.at, nil }

// ReadSegment reads what AppendSegment wrote.
func ReadSegment(b []byte) (*Segment, error) {
	s := &Segment{head: *New(1)}
	c := canon.Reader(b)
	s.state(c)
	if err := c.Close(); err != nil {
		return nil, fmt.Errorf("read segment of requests: %w", err)
	}
	s.At = s.head.at
	return s, nil
}

func (s *Segment) state(c *canon.Coder) {
	canon.Uint(c, &s.From)
	canon.Slice(c, &s.Ended, func(c *canon.Coder, p **Row) { // first, so that a list reads nothing else
		if c.Reading() {
			*p = &Row{}
		}
		c.Nested((*p).state)
	})
	s.head.state(c, &s.Open, nil)
}

// EachEnded reads the rows of a segment alone, in order of ending, one over the
// other: fn must keep none. sessions narrows to the rows of some; nil: all.
func EachEnded(b []byte, sessions []events.Digest, fn func(*Row)) error {
	c := canon.Reader(b)
	var from events.Position
	var r Row
	canon.Uint(c, &from)
	for range c.Len(0) {
		raw := c.Raw()
		if c.Err() != nil {
			break
		}
		if sessions != nil && !slices.ContainsFunc(sessions, func(d events.Digest) bool { return bytes.HasPrefix(raw, d[:]) }) {
			continue
		}
		one := canon.Reader(raw)
		if r.state(one); one.Close() != nil {
			return one.Close()
		}
		fn(&r)
	}
	return c.Err()
}

// rowKey tells rows apart: a request that comes back after its row was dropped
// has another one.
type rowKey struct {
	id    uuid.UUID
	first events.Position
}

// Join is the view at the end of the first segment; the others lie before it,
// each before the one that it follows in the list, as many as hold keep ended
// requests.
func Join(keep int, segments ...*Segment) *View {
	newest := segments[0]
	v := New(keep)
	v.at, v.dropped, v.trouble, v.names, v.lists = newest.head.at, newest.head.dropped, newest.head.trouble, newest.head.names, newest.head.lists
	var ended []*Row
	place := map[rowKey]int{}
	for i := len(segments) - 1; i >= 0; i-- {
		for _, r := range segments[i].Ended {
			k := rowKey{r.ID, r.First}
			if at, known := place[k]; known {
				ended[at] = r
				continue
			}
			place[k] = len(ended)
			ended = append(ended, r)
		}
	}
	v.restore(newest.Open, ended[max(0, len(ended)-v.keep):])
	v.from, v.noted = newest.From, newest.Ended
	return v
}

// Adopt takes over what a joined view holds.
func (v *View) Adopt(joined *View) {
	recording := v.recording
	*v = *joined
	if v.recording = recording; !recording {
		v.noted = nil
	}
}

// Own is how many of the segment's rows began in it: no earlier one has them.
func (s *Segment) Own() (n int) {
	for _, r := range s.Ended {
		if r.First > s.From {
			n++
		}
	}
	return n
}

// AppendIndex appends the index of the segment that AppendSegment gives.
func (v *View) AppendIndex(b []byte) []byte { return v.segment().Index().AppendState(b) }
