package jsonscan

// MaxDepth is how deep objects and arrays may nest.
const MaxDepth = 1024

// maxKey is the longest key text that is compared with the shape's names.
const maxKey = 128

// Fault is why bytes are not one JSON object.
type Fault string

// The faults.
const (
	FaultNone      Fault = ""
	FaultEmpty     Fault = "is empty"
	FaultTruncated Fault = "ends in the middle"
	FaultRoot      Fault = "is not a JSON object"
	FaultBOM       Fault = "begins with a byte order mark"
	FaultSyntax    Fault = "is not valid JSON"
	FaultTrailing  Fault = "goes on after the JSON object"
	FaultUTF8      Fault = "is not UTF-8"
	FaultDepth     Fault = "nests too deep"
)

type state uint8

const (
	stRoot state = iota // before the root object
	stValue
	stFirstElement // after [
	stFirstKey     // after {
	stKey          // after , in an object
	stColon
	stAfter  // after a value
	stString // from here on: inside a token
	stEscape
	stHex
	stUTF8
	stMinus
	stZero
	stInt
	stDot
	stFrac
	stExp
	stExpSign
	stExpInt
	stLiteral
	stDone
	stFault
)

// Scanner scans one JSON object. The zero value is not usable: Reset it first.
// A scanner is reused without allocating; it is not safe for concurrent use.
type Scanner struct {
	shape   *Shape
	members []Member         // of the fields that were found, the first found first
	place   [MaxFields]uint8 // of each field in members, from 1; 0: not found
	absent  Member           // what every other field is
	arena   []byte           // kept values
	key     []byte           // text of the key at hand

	offset int64 // of the next byte fed
	depth  int
	state  state
	fault  Fault
	isKey  bool // the string at hand is a key
	esc    bool // the key at hand holds an escape
	hex    uint8
	lit    string // rest of a literal
	utfN   uint8  // continuation bytes still due
	utfLo  byte
	utfHi  byte

	at     [8]int8 // field at each watched depth: at[d] is what the container at depth d is
	cur    int8    // field of the value to come or at hand
	keep   int8    // field whose text is being kept, none otherwise
	keepAt int     // where in the chunk at hand its text (goes on) begins

	arrays [MaxDepth / 64]uint64 // bit set: the container at that depth is an array
	object int64                 // place of the root's brace
	empty  bool                  // the root object has no member

	// Notify, when set, is told of each field whose value just ended; its Member
	// says where. It survives Reset.
	Notify func(field int)
}

// Reset begins a new scan for the members of shape.
func (s *Scanner) Reset(shape *Shape) {
	// A body holds few of a shape's fields: only those get a member.
	s.place, s.members = [MaxFields]uint8{}, s.members[:0]
	if s.members == nil {
		s.members = make([]Member, 0, 8)
	}
	s.shape = shape
	s.arena, s.key = s.arena[:0], s.key[:0]
	s.offset, s.depth, s.state, s.fault = 0, 0, stRoot, FaultNone
	s.keep, s.cur = none, off
}

// Done says that the root object is complete.
func (s *Scanner) Done() bool { return s.state == stDone }

// Fault says why the bytes so far cannot be a JSON object, FaultNone while they can.
func (s *Scanner) Fault() Fault { return s.fault }

// Object is where the root object begins.
func (s *Scanner) Object() int64 { return s.object }

// Empty says that the root object is complete and has no member.
func (s *Scanner) Empty() bool { return s.state == stDone && s.empty }

// Offset counts the bytes consumed: with a fault, where it stands.
func (s *Scanner) Offset() int64 { return s.offset }

// Member is what was found of field i. Valid until more is fed.
func (s *Scanner) Member(i int) *Member {
	if at := s.place[i]; at > 0 {
		return &s.members[at-1]
	}
	return &s.absent
}

// Full says that field i occurred with more than null, false, "", [] or {}.
func (s *Scanner) Full(i int) bool { return s.Member(i).Full }

// Has says that field i occurred with anything but null.
func (s *Scanner) Has(i int) bool { return s.Member(i).Kind > Null }

// Text is the kept text of field i's last occurrence, nil when it is absent,
// longer than its Keep, or not complete. Valid until the next Reset.
func (s *Scanner) Text(i int) []byte {
	m := s.Member(i)
	if m.To == 0 || m.over || s.shape.fields[i].Keep == 0 {
		return nil
	}
	return s.arena[m.text[0]:m.text[1]]
}

// Feed consumes p up to the end of the root object and returns how many bytes
// that took; fewer than len(p) only when the object is complete or at fault.
func (s *Scanner) Feed(p []byte) int {
	s.keepAt = 0
	i := s.run(p)
	if s.keep >= 0 {
		s.store(p[s.keepAt:i])
	}
	s.offset += int64(i)
	return i
}

// Close says that no more bytes come and returns the verdict on all of them.
func (s *Scanner) Close() Fault {
	switch s.state {
	case stDone, stFault:
	case stRoot:
		s.fail(FaultEmpty)
	default:
		s.fail(FaultTruncated)
	}
	return s.fault
}

func (s *Scanner) fail(f Fault) {
	if s.fault == FaultNone {
		s.fault = f
	}
	s.state, s.keep = stFault, none
}

func (s *Scanner) run(p []byte) int {
	i := 0
	for i < len(p) && s.state < stDone {
		if s.state >= stString {
			i = s.token(p, i)
			continue
		}
		c := p[i]
		if c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
			i++
			continue
		}
		if s.structure(p, i, c); s.state == stFault {
			return i
		}
		i++
	}
	return i
}

// structure takes a byte between the tokens, or the first one of a value.
func (s *Scanner) structure(p []byte, i int, c byte) {
	switch s.state {
	case stRoot:
		s.root(c, i)
	case stFirstElement, stValue:
		if c == ']' && s.state == stFirstElement {
			s.close(p, i+1, false)
			return
		}
		s.value(c, i)
	case stFirstKey, stKey:
		switch {
		case c == '"':
			s.state, s.isKey, s.esc = stString, true, false
			s.key = s.key[:0]
		case c == '}' && s.state == stFirstKey:
			s.close(p, i+1, false)
		default:
			s.fail(FaultSyntax)
		}
	case stColon:
		s.state = stValue
		if c != ':' {
			s.fail(FaultSyntax)
		}
	case stAfter:
		s.after(p, i, c)
	}
}

func (s *Scanner) root(c byte, i int) {
	switch c {
	case '{':
		s.depth, s.at[1], s.arrays[0] = 1, Root, 0
		s.object = s.offset + int64(i)
		s.state = stFirstKey
	case 0xEF:
		s.fail(FaultBOM)
	default:
		s.fail(FaultRoot)
	}
}

func (s *Scanner) after(p []byte, i int, c byte) {
	array := s.isArray()
	switch {
	case c == ',' && array:
		s.state = stValue
	case c == ',':
		s.state = stKey
	case c == ']' && array, c == '}' && !array:
		s.close(p, i+1, true)
	default:
		s.fail(FaultSyntax)
	}
}

// value begins the value whose first byte is c.
func (s *Scanner) value(c byte, i int) {
	if s.isArray() {
		s.cur = s.shape.each(s.watched())
	}
	kind := Number
	switch c {
	case '{':
		kind = Object
	case '[':
		kind = Array
	case '"':
		kind = String
		s.state, s.isKey = stString, false
	case 't':
		kind = True
		s.state, s.lit = stLiteral, "rue"
	case 'f':
		kind = False
		s.state, s.lit = stLiteral, "false"[1:]
	case 'n':
		kind = Null
		s.state, s.lit = stLiteral, "ull"
	case '-':
		s.state = stMinus
	case '0':
		s.state = stZero
	default:
		if c-'1' > 8 {
			s.fail(FaultSyntax)
			return
		}
		s.state = stInt
	}
	if s.cur >= 0 {
		s.begin(kind, i)
	}
	if kind >= Array {
		s.open(kind)
	}
}

// begin notes an occurrence of the field at hand.
func (s *Scanner) begin(kind Kind, i int) {
	if s.place[s.cur] == 0 {
		s.members = append(s.members, Member{})
		s.place[s.cur] = uint8(len(s.members))
	}
	m := s.Member(int(s.cur))
	m.Kind, m.From, m.To, m.over = kind, s.offset+int64(i), 0, false
	m.Times++
	if kind == True || kind == Number {
		m.Full = true
	}
	if f := &s.shape.fields[s.cur]; s.keep < 0 && f.Keep > 0 && (kind < Array || f.Whole) {
		s.keep, s.keepAt = s.cur, i
		m.text = [2]int32{int32(len(s.arena)), int32(len(s.arena))}
	}
}

// end notes that the value at hand ended before i.
func (s *Scanner) end(p []byte, i int) {
	s.state = stAfter
	if s.cur < 0 {
		return
	}
	m := s.Member(int(s.cur))
	m.To = s.offset + int64(i)
	if m.Kind == String && m.To-m.From > 2 {
		m.Full = true
	}
	if s.keep == s.cur {
		s.store(p[s.keepAt:i])
		s.keep = none
	}
	if s.Notify != nil {
		s.Notify(int(s.cur))
	}
}

// store keeps a piece of the text of the field being kept.
func (s *Scanner) store(piece []byte) {
	m := s.Member(int(s.keep))
	if len(s.arena)-int(m.text[0])+len(piece) > s.shape.fields[s.keep].Keep {
		s.arena = s.arena[:m.text[0]]
		m.over, s.keep = true, none
		return
	}
	s.arena = append(s.arena, piece...)
	m.text[1] = int32(len(s.arena))
}

func (s *Scanner) open(kind Kind) {
	if s.depth++; s.depth >= MaxDepth {
		s.fail(FaultDepth)
		return
	}
	if s.depth < len(s.at) {
		s.at[s.depth] = s.cur
	}
	bit := uint64(1) << (s.depth & 63)
	if kind == Array {
		s.arrays[s.depth>>6] |= bit
		s.state = stFirstElement
	} else {
		s.arrays[s.depth>>6] &^= bit
		s.state = stFirstKey
	}
	s.cur = off
}

// close ends the container at hand; its last byte is before i.
func (s *Scanner) close(p []byte, i int, full bool) {
	s.cur = s.watched()
	if s.depth--; s.depth == 0 {
		s.state, s.empty = stDone, !full
		return
	}
	if s.cur >= 0 && full {
		s.Member(int(s.cur)).Full = true
	}
	s.end(p, i)
}

func (s *Scanner) isArray() bool { return s.arrays[s.depth>>6]>>(s.depth&63)&1 == 1 }

// watched is the field that the container at hand is, off when it is none.
func (s *Scanner) watched() int8 {
	if s.depth < len(s.at) {
		return s.at[s.depth]
	}
	return off
}
