package requests

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/canon"
)

// The names that the history is stored under, at the end of each segment: what
// the view holds beside what ended, the segment's rows in parts (PartName), and
// its index. Their version is the view's.
const (
	Heads   = "requests.head"
	Indexes = "requests.index"
	partOf  = "requests.rows."
)

// PartName is the name of one part of a segment's rows.
func PartName(n int) string { return partOf + strconv.Itoa(n) }

// Historic says whether a name is of a history, of which all is kept, and not of
// a state, of which the newest would do.
func Historic(name string) bool { return name == Indexes || strings.HasPrefix(name, partOf) }

// partRows is how many rows are stored together: few, so that finding one of
// them costs little, and as many as pack well.
const partRows = 256

// Segment is the history of requests from one position to another: what ended
// there, in order of ending. A row that changed after its end (it was lost, and
// then its true outcome came) stands in the segment of the change once more, and
// what stands there counts.
type Segment struct {
	From, At events.Position // after From, up to At
	Ended    []*Row

	open []*Row // at its end
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

// Segment is what was noted since Record or Cut; it shares its rows with the view.
func (v *View) Segment() *Segment {
	s := &Segment{From: v.from, At: v.at, open: v.openRows()}
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

// Parts is how many parts the rows are stored in.
func (s *Segment) Parts() int { return (len(s.Ended) + partRows - 1) / partRows }

func (s *Segment) part(n int) []*Row { return s.Ended[n*partRows : min((n+1)*partRows, len(s.Ended))] }

// AppendPart appends one part of the rows.
func (s *Segment) AppendPart(b []byte, n int) []byte {
	c, part := canon.Writer(b), s.part(n)
	canon.Slice(c, &part, nestedRow)
	return c.Bytes()
}

// Take adds the rows of the next part, as AppendPart wrote it.
func (s *Segment) Take(part []byte) error {
	c := canon.Reader(part)
	var taken []*Row
	canon.Slice(c, &taken, nestedRow)
	if err := c.Close(); err != nil {
		return fmt.Errorf("read rows of requests: %w", err)
	}
	s.Ended = append(s.Ended, taken...)
	return nil
}

// nestedRow is a row that a reader may pass over.
func nestedRow(c *canon.Coder, p **Row) {
	if c.Reading() {
		*p = &Row{}
	}
	c.Nested((*p).state)
}

// EachRow reads the rows of a part, in order of ending, one over the other: fn
// must keep none. sessions narrows to the rows of some; nil: all.
func EachRow(part []byte, sessions []events.Digest, fn func(*Row)) error {
	c := canon.Reader(part)
	var r Row
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
	return c.Close()
}

// AppendHead appends what the view holds beside what ended.
func (v *View) AppendHead(b []byte) []byte {
	c, open := canon.Writer(b), v.openRows()
	v.state(c, &open, nil)
	return c.Bytes()
}

// ReadHead is a view that stands where AppendHead was called and holds nothing
// that ended, and from there on at most keep of what ends.
func ReadHead(b []byte, keep int) (*View, error) {
	v, c := New(keep), canon.Reader(b)
	var open []*Row
	v.state(c, &open, nil)
	if err := c.Close(); err != nil {
		return nil, fmt.Errorf("read head of requests: %w", err)
	}
	v.from = v.at
	v.restore(open, nil)
	return v, nil
}

// Join gives a view that was read from a head what ended before it: the first
// segment ends there, each other one where the one before it in the list begins.
func (v *View) Join(segments ...*Segment) {
	var ended []*Row
	place := map[RowKey]int{}
	for _, s := range slices.Backward(segments) {
		for _, r := range s.Ended {
			k := r.Key()
			if at, known := place[k]; known {
				ended[at] = r
				continue
			}
			place[k] = len(ended)
			ended = append(ended, r)
		}
	}
	v.restore(v.openRows(), ended[max(0, len(ended)-v.keep):])
	v.from, v.noted = segments[0].From, segments[0].Ended
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
