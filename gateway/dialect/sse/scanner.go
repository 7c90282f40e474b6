package sse

import "bytes"

// Scanner splits one stream. The zero value is ready.
type Scanner struct {
	line  []byte // an incomplete line
	name  []byte // of the event at hand
	data  []byte // of the event at hand: in the chunk at hand, or in own
	own   []byte
	names []byte // backs name across chunks

	nameLent bool // name lies in the chunk at hand
	dataLent bool // data does
	pieces   bool // the event's data is handed over in pieces
	hasData  bool
	fields   bool // the event has a field line other than data
	wary     bool // its data may be an error: nobody gets it before it was judged
	begun    bool // a first line was judged: no byte order mark after it
	cr       bool // the last byte was a CR: a LF belongs to it
	bare     bool // the last line ended in a CR alone
	long     long
	total    int64
	safe     int64
}

// long says that the line at hand outgrew HoldLine, and what it is.
type long uint8

const (
	short long = iota
	longData
	longOther
)

// Safe counts the bytes fed so far that a client may get now: it ends after a
// whole line, and not between an event's fields and its data. Data that may be
// an error waits for the end of its event.
func (s *Scanner) Safe() int64 { return s.safe }

// Pending says that the bytes up to Safe leave an event without its blank line,
// InLine that they even end inside a line.
func (s *Scanner) Pending() bool { return s.hasData }

// BareCR says that the last line ended in a CR alone: a LF that follows would
// not be a line of its own.
func (s *Scanner) BareCR() bool { return s.bare }

// InLine says that the bytes up to Safe end inside a line longer than HoldLine.
func (s *Scanner) InLine() bool { return s.long != short }

// Feed examines the next bytes.
func (s *Scanner) Feed(p []byte, h Handler) {
	if s.cr && len(p) > 0 {
		if s.cr = false; p[0] == '\n' {
			p = p[1:]
			s.total++
			s.bare = false
			if s.safe == s.total-1 {
				s.safe = s.total
			}
		}
	}
	for len(p) > 0 {
		end, size := lineEnd(p)
		if end < 0 {
			s.part(p, h)
			break
		}
		s.bare = size == 1 && p[end] == '\r'
		s.cr = s.bare && end == len(p)-1
		s.total += int64(end + size)
		s.whole(p[:end], h)
		s.settle()
		p = p[end+size:]
	}
	s.copyOut()
}

// lineEnd is where the first line end stands and how long it is, -1 when there
// is none.
func lineEnd(p []byte) (end, size int) {
	lf := bytes.IndexByte(p, '\n')
	if lf < 0 {
		return bytes.IndexByte(p, '\r'), 1
	}
	cr := bytes.IndexByte(p[:lf], '\r')
	switch {
	case cr < 0:
		return lf, 1
	case cr == lf-1:
		return cr, 2
	}
	return cr, 1
}

// settle moves Safe after a whole line.
func (s *Scanner) settle() {
	if !s.wary && (!s.fields || s.hasData) || s.total-s.safe > HoldLine {
		s.safe = s.total
	}
}

// part takes bytes of a line whose end has not come.
func (s *Scanner) part(p []byte, h Handler) {
	s.total += int64(len(p))
	switch s.long {
	case longData:
		h.Piece(p)
	case short:
		s.line = append(s.line, p...)
		if len(s.line) > HoldLine {
			s.outgrow(h)
		}
	}
	if s.long != short {
		s.safe = s.total
	}
}

// outgrow begins to hand over a long line in pieces.
func (s *Scanner) outgrow(h Handler) {
	field, value := split(s.unmark(s.line))
	if s.long = longOther; string(field) == "data" {
		s.long = longData
		s.intoPieces(h)
		h.Piece(value)
	}
	s.line = s.line[:0]
}

// intoPieces hands over the data at hand, with the line end that follows it.
func (s *Scanner) intoPieces(h Handler) {
	if s.hasData {
		if !s.pieces {
			h.Piece(s.data)
		}
		h.Piece([]byte{'\n'})
	}
	s.hasData, s.pieces, s.data, s.dataLent = true, true, nil, false
}

// whole takes a line whose end has come; p is its last part.
func (s *Scanner) whole(p []byte, h Handler) {
	switch {
	case s.long == longData:
		h.Piece(p)
		s.long = short
		return
	case s.long == longOther:
		s.long = short
		return
	case len(s.line) > 0:
		s.line = append(s.line, p...)
		s.judge(s.line, h)
		s.copyOut() // the line's buffer takes the next line
		s.line = s.line[:0]
		return
	}
	s.judge(p, h)
}

func (s *Scanner) judge(line []byte, h Handler) {
	line = s.unmark(line)
	field, value := split(line)
	switch {
	case len(field) == 0 && len(value) == 0 && field == nil:
		s.dispatch(h)
	case len(field) == 0: // a comment
	case string(field) == "data":
		s.addData(value, h)
	case string(field) == "event":
		s.name, s.fields, s.nameLent = value, true, true
	case string(field) == "id", string(field) == "retry":
		s.fields = true
	default:
		h.Stray(line)
	}
}

// unmark drops a byte order mark from the first line.
func (s *Scanner) unmark(line []byte) []byte {
	if s.begun {
		return line
	}
	s.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}

// split cuts a line into field and value. An empty line has a nil field, a
// comment an empty one.
func split(line []byte) (field, value []byte) {
	if len(line) == 0 {
		return nil, nil
	}
	field, value, _ = bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return field, value
}

// errorWord stands in the data of every error, whatever its shape.
var errorWord = []byte(`error`)

func (s *Scanner) addData(value []byte, h Handler) {
	s.wary = s.wary || bytes.Contains(value, errorWord)
	switch {
	case s.pieces || s.hasData && len(s.data)+len(value) > HoldLine:
		s.intoPieces(h)
		h.Piece(value)
	case s.hasData:
		s.copyOut()
		s.own = append(append(s.own, '\n'), value...)
		s.data = s.own
	default:
		s.data, s.hasData, s.dataLent = value, true, true
	}
}

func (s *Scanner) dispatch(h Handler) {
	switch {
	case s.pieces:
		h.Event(s.name, nil)
	case s.hasData:
		h.Event(s.name, s.data)
	}
	s.name, s.data = nil, nil
	s.hasData, s.pieces, s.fields, s.wary = false, false, false, false
	s.nameLent, s.dataLent = false, false
}

// copyOut copies what lies in bytes that are about to be used for others.
func (s *Scanner) copyOut() {
	if s.nameLent {
		s.names = append(s.names[:0], s.name...)
		s.name, s.nameLent = s.names, false
	}
	if s.dataLent {
		s.own = append(s.own[:0], s.data...)
		s.data, s.dataLent = s.own, false
	}
}

// Finish takes a clean end of the stream: an event that lacks only its blank
// line, or its last line end, counts (B016).
func (s *Scanner) Finish(h Handler) {
	if len(s.line) > 0 {
		line := s.line
		s.line = nil
		s.judge(line, h)
	}
	s.long = short
	s.dispatch(h)
	s.safe = s.total
}
