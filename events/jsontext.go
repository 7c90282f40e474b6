package events

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

func (c *coder) member(name string) {
	if c.sep {
		c.out = append(c.out, ',')
	}
	c.sep = true
	c.out = append(c.out, '"')
	c.out = append(c.out, name...)
	c.out = append(c.out, '"', ':')
}

func (c *coder) from(name string, v any) {
	if raw, ok := c.obj[name]; ok {
		if err := json.Unmarshal(raw, v); err != nil && c.err == nil {
			c.err = fmt.Errorf("field %s: %w", name, err)
		}
	}
}

// text is a string that survives JSON byte for byte, UTF-8 or not: a byte 0xNN
// that is not part of a UTF-8 sequence is written as the lone surrogate
// \udcNN, as PEP 383 does. No valid string contains one.
type text string

// UnmarshalJSON reads what appendJSONString wrote, and any other JSON string.
func (t *text) UnmarshalJSON(b []byte) error {
	if !hasByteEscape(b) {
		return json.Unmarshal(b, (*string)(t))
	}
	out := make([]byte, 0, len(b))
	for b = b[1 : len(b)-1]; len(b) > 0; {
		out, b = unescape(out, b)
	}
	*t = text(out)
	return nil
}

// hasByteEscape finds \udc80 to \udcff in valid JSON.
func hasByteEscape(b []byte) bool {
	for i := 0; i+5 < len(b); i++ {
		if b[i] == '\\' {
			if r := codeUnit(b[i:]); r >= 0xdc80 && r <= 0xdcff {
				return true
			}
			i++
		}
	}
	return false
}

// codeUnit is the unit of a \uXXXX escape at the start of b, or -1.
func codeUnit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// unescape moves one character of a JSON string's inside from b to out.
func unescape(out, b []byte) (o, rest []byte) {
	switch r := codeUnit(b); {
	case r >= 0xdc80 && r <= 0xdcff:
		return append(out, byte(r)), b[6:]
	case utf16.IsSurrogate(r):
		if both := utf16.DecodeRune(r, codeUnit(b[6:])); both != utf8.RuneError {
			return utf8.AppendRune(out, both), b[12:]
		}
		return utf8.AppendRune(out, utf8.RuneError), b[6:]
	case r >= 0:
		return utf8.AppendRune(out, r), b[6:]
	case b[0] == '\\' && len(b) > 1:
		return append(out, unquoted(b[1])), b[2:]
	}
	r, n := utf8.DecodeRune(b)
	return utf8.AppendRune(out, r), b[n:]
}

func unquoted(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// appendJSONString is the one way a string is written: escapes where JSON
// demands them, UTF-8 as it is, and stray bytes as text says.
func appendJSONString(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
			i++
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			i++
		case c < utf8.RuneSelf:
			b = append(b, c)
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(b, '\\', 'u', 'd', 'c', digits[c>>4], digits[c&15])
			} else {
				b = append(b, s[i:i+n]...)
			}
			i += n
		}
	}
	return append(b, '"')
}

// instant is a Time in JSON: RFC 3339, or microseconds as a number where RFC
// 3339 has no words for it.
type instant Time

// UnmarshalJSON reads either form, or null.
func (t *instant) UnmarshalJSON(b []byte) error {
	if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		*t = instant(n)
		return nil
	}
	return (*Time)(t).UnmarshalJSON(b)
}

const (
	firstYear = Time(-62135596800 * 1_000_000) // 0001-01-01
	lastYear  = Time(253402300800 * 1_000_000) // 10000-01-01
)

func appendInstant(b []byte, t Time) []byte {
	if t < firstYear || t >= lastYear {
		return strconv.AppendInt(b, int64(t), 10)
	}
	b = append(b, '"')
	b = time.UnixMicro(int64(t)).UTC().AppendFormat(b, timeLayout)
	return append(b, '"')
}

// exactDecimal reads every Decimal that String writes, the edges included, and
// whatever else ParseDecimal takes.
func exactDecimal(s string) (Decimal, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) <= 6 {
		if n, err := strconv.ParseInt(whole+(frac + "000000")[:6], 10, 64); err == nil {
			return Decimal(n), true
		}
	}
	return ParseDecimal(s)
}
