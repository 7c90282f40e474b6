package jsonscan

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote decodes the inside of a valid string's text (no quotes around it).
// A lone surrogate becomes U+FFFD, as encoding/json has it.
func unquote(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, n := escaped(s[i-1:])
			out = utf8.AppendRune(out, r)
			i += n - 2
		default:
			out = append(out, s[i])
		}
	}
	return out
}

// escaped reads a \uXXXX, with its other half where it is a surrogate pair.
func escaped(s []byte) (r rune, n int) {
	r = hex4(s)
	if r < 0 {
		return utf8.RuneError, 2
	}
	if utf16.IsSurrogate(r) {
		if low := hex4(s[6:]); low >= 0 {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

func hex4(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range s[2:6] {
		v, ok := unhex(c)
		if !ok {
			return -1
		}
		r = r<<4 | rune(v)
	}
	return r
}

func unhex(c byte) (byte, bool) {
	switch {
	case c-'0' <= 9:
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// String is the decoded value of field i's last occurrence, "" unless that was
// a string and its text was kept.
func (s *Scanner) String(i int) string {
	t := s.Text(i)
	if len(t) < 2 || t[0] != '"' {
		return ""
	}
	t = t[1 : len(t)-1]
	for _, c := range t {
		if c == '\\' {
			return string(unquote(t))
		}
	}
	return string(t)
}

// Int is the value of field i's last occurrence when that was a whole number
// that fits, exponent and point forms of whole numbers included (1e3, 7.0).
func (s *Scanner) Int(i int) (int64, bool) {
	if s.Member(i).Kind != Number {
		return 0, false
	}
	t := s.Text(i)
	var v int64
	for j, c := range t {
		if c-'0' > 9 || j > 17 {
			return slowInt(t)
		}
		v = v*10 + int64(c-'0')
	}
	return v, len(t) > 0
}

func slowInt(t []byte) (int64, bool) {
	if v, err := strconv.ParseInt(string(t), 10, 64); err == nil {
		return v, true
	}
	f, err := strconv.ParseFloat(string(t), 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -1<<53 {
		return 0, false
	}
	return int64(f), true
}
