package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// token consumes bytes of the token at hand, from p[i] on, and returns where
// the next byte stands.
func (s *Scanner) token(p []byte, i int) int {
	switch s.state {
	case stString:
		return s.inString(p, i)
	case stEscape:
		s.escape(p[i])
	case stHex:
		s.hexDigit(p[i])
	case stUTF8:
		s.continuation(p[i])
	case stLiteral:
		return s.inLiteral(p, i)
	default:
		return s.inNumber(p, i)
	}
	if s.state == stFault {
		return i
	}
	if s.isKey {
		s.addKey(p[i : i+1])
	}
	return i + 1
}

// inString consumes string bytes up to the end of the string or of p, or to a
// byte that needs a state of its own.
func (s *Scanner) inString(p []byte, i int) int {
	from := i
	for i < len(p) {
		if i = plain(p, i); i == len(p) {
			break
		}
		switch c := p[i]; {
		case c == '"':
			s.endString(p, from, i)
			return i + 1
		case c == '\\':
			s.state, s.esc = stEscape, true
		case c < ' ':
			s.fail(FaultSyntax)
			return i
		default:
			n := runes(p, i)
			if n > i {
				i = n
				continue
			}
			s.lead(c)
			if s.state == stFault {
				return i
			}
		}
		i++
		break
	}
	if s.isKey {
		s.addKey(p[from:i])
	}
	return i
}

func (s *Scanner) endString(p []byte, from, i int) {
	if !s.isKey {
		s.end(p, i+1)
		return
	}
	s.state, s.cur = stColon, off
	at := s.watched()
	if at == off {
		return
	}
	name := p[from:i]
	if len(s.key) > 0 || s.esc {
		s.addKey(name)
		name = s.key
	}
	if s.esc {
		name = unquote(name)
	}
	if len(name) <= maxKey {
		s.cur = s.shape.child(at, name)
	}
}

// addKey keeps key text that does not stand in one piece; beyond maxKey it only
// has to be longer than any name.
func (s *Scanner) addKey(piece []byte) {
	if s.watched() != off && len(s.key) <= 8*maxKey {
		s.key = append(s.key, piece[:min(len(piece), 8*maxKey+1)]...)
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain is the index at or after i of the first byte that is not plain ASCII
// string text: a quote, a backslash, a control character, or beyond ASCII.
func plain(p []byte, i int) int {
	for ; i+8 <= len(p); i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		q, b := w^ones*'"', w^ones*'\\'
		// A byte's high bit is set where the byte is below 0x20, equal to a
		// quote or a backslash, or beyond ASCII. A borrow can only spoil bytes
		// after the first hit.
		if m := ((w-ones*0x20)&^w | (q-ones)&^q | (b-ones)&^b | w) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(p); i++ {
		if c := p[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// IsText says that s, written between two quotes, is one string: no quote, no
// control character and no unfinished escape. It does not check what follows a
// backslash, nor UTF-8.
func IsText(s []byte) bool {
	for i := 0; ; i++ {
		switch i = plain(s, i); {
		case i >= len(s):
			return i == len(s)
		case s[i] == '\\':
			i++
		case s[i] < utf8.RuneSelf:
			return false
		}
	}
}

// runes consumes whole characters beyond ASCII and returns where they end.
func runes(p []byte, i int) int {
	for i < len(p) && p[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// lead begins a character beyond ASCII that does not stand whole in the chunk.
func (s *Scanner) lead(c byte) {
	s.utfLo, s.utfHi = 0x80, 0xBF
	switch {
	case c >= 0xC2 && c <= 0xDF:
		s.utfN = 1
	case c >= 0xE0 && c <= 0xEF:
		s.utfN = 2
	case c >= 0xF0 && c <= 0xF4:
		s.utfN = 3
	default:
		s.fail(FaultUTF8)
		return
	}
	switch c {
	case 0xE0:
		s.utfLo = 0xA0 // overlong
	case 0xED:
		s.utfHi = 0x9F // surrogates
	case 0xF0:
		s.utfLo = 0x90 // overlong
	case 0xF4:
		s.utfHi = 0x8F // beyond U+10FFFF
	}
	s.state = stUTF8
}

func (s *Scanner) continuation(c byte) {
	if c < s.utfLo || c > s.utfHi {
		s.fail(FaultUTF8)
		return
	}
	s.utfLo, s.utfHi = 0x80, 0xBF
	if s.utfN--; s.utfN == 0 {
		s.state = stString
	}
}

func (s *Scanner) escape(c byte) {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.state = stString
	case 'u':
		s.state, s.hex = stHex, 4
	default:
		s.fail(FaultSyntax)
	}
}

func (s *Scanner) hexDigit(c byte) {
	if _, ok := unhex(c); !ok {
		s.fail(FaultSyntax)
		return
	}
	if s.hex--; s.hex == 0 {
		s.state = stString
	}
}

func (s *Scanner) inLiteral(p []byte, i int) int {
	for ; i < len(p); i++ {
		if p[i] != s.lit[0] {
			s.fail(FaultSyntax)
			return i
		}
		if s.lit = s.lit[1:]; s.lit == "" {
			s.end(p, i+1)
			return i + 1
		}
	}
	return i
}

// inNumber consumes bytes of a number; the byte after its end is not consumed.
func (s *Scanner) inNumber(p []byte, i int) int {
	for ; i < len(p); i++ {
		next, ended := number(s.state, p[i])
		if ended {
			s.end(p, i)
			return i
		}
		if s.state = next; next == stFault {
			s.fail(FaultSyntax)
			return i
		}
	}
	return i
}

// number is the state after c in a number, or says that the number ended before c.
func number(st state, c byte) (next state, ended bool) {
	digit := c-'0' <= 9
	switch st {
	case stMinus:
		switch {
		case c == '0':
			return stZero, false
		case digit:
			return stInt, false
		}
	case stZero, stInt:
		switch {
		case digit && st == stInt:
			return stInt, false
		case c == '.':
			return stDot, false
		case c == 'e' || c == 'E':
			return stExp, false
		}
		return st, true
	case stDot:
		if digit {
			return stFrac, false
		}
	case stFrac:
		switch {
		case digit:
			return stFrac, false
		case c == 'e' || c == 'E':
			return stExp, false
		}
		return st, true
	case stExp:
		switch {
		case c == '+' || c == '-':
			return stExpSign, false
		case digit:
			return stExpInt, false
		}
	case stExpSign:
		if digit {
			return stExpInt, false
		}
	case stExpInt:
		if digit {
			return stExpInt, false
		}
		return st, true
	}
	return stFault, false
}
