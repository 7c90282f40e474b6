package redact

import (
	"encoding/base64"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// literal takes a named secret out wherever it stands: as it is, in any case,
// and in the disguises that a host puts on what it echoes: JSON escapes,
// percent encoding, character references, one inside another, base64. What is
// quoted of its beginning or its end goes too, from eight bytes and half of it
// on.
func literal(s, secret string) string {
	if len(secret) < shortest {
		return s
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		s = strings.ReplaceAll(s, encoding.EncodeToString([]byte(secret)), Mark)
	}
	s = everywhere(s, secret, len(secret))
	return everywhere(s, secret, max(8, (len(secret)+1)/2))
}

// everywhere cuts the secret, or at least so much of its beginning or end, out
// of the text and of what lies under its disguises, the innermost first: there
// a whole secret is whole.
func everywhere(s, secret string, least int) string {
	layers := peel(s)
	for i := len(layers) - 1; i >= 0; i-- {
		if i >= len(layers) {
			continue
		}
		if out := without(s, layers[i], secret, least); out != s {
			s, layers = out, peel(out)
		}
	}
	return s
}

// peel is the text and what lies under each of its disguises.
func peel(s string) []view {
	layers := []view{{text: s}}
	for len(layers) <= maxDepth {
		next, changed := layers[len(layers)-1].undisguised()
		if !changed {
			break
		}
		layers = append(layers, next)
	}
	return layers
}

// maxDepth is how many disguises are looked under: JSON inside JSON inside a
// URL, and one more.
const maxDepth = 4

// view is text with a disguise taken off, and where each of its bytes stood.
type view struct {
	text string
	at   []int // offset in the original of each byte, and of the end; nil: the same
}

func (v *view) offset(i int) int {
	if v.at == nil {
		return i
	}
	return v.at[i]
}

// without cuts what the view holds of the secret out of the original.
func without(s string, v view, secret string, least int) string {
	text, secret := lower(v.text), lower(secret)
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); {
		from, to := find(text, secret, i, least)
		if from < 0 {
			break
		}
		if a := v.offset(from); a >= done {
			b.WriteString(s[done:a])
			b.WriteString(Mark)
			done = v.offset(to)
		}
		i = to
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// find is the first place from i on that holds the secret, or so much of its
// beginning or its end.
func find(text, secret string, i, half int) (from, to int) {
	if n := strings.Index(text[i:], secret); n >= 0 {
		from, to = i+n, i+n+len(secret)
	} else {
		from = -1
	}
	if half >= len(secret) {
		return from, to // all of it, or it is too short to be told by a half
	}
	if n := strings.Index(text[i:], secret[:half]); n >= 0 && (from < 0 || i+n < from) {
		from, to = i+n, i+n+half
		for to < len(text) && to-from < len(secret) && text[to] == secret[to-from] {
			to++
		}
	}
	if n := strings.Index(text[i:], secret[len(secret)-half:]); n >= 0 && (from < 0 || i+n < from) {
		from, to = i+n, i+n+half
		for from > i && to-from < len(secret) && text[from-1] == secret[len(secret)-(to-from)-1] {
			from--
		}
	}
	return from, to
}

// lower folds ASCII alone, so that offsets stay.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// undisguised takes one layer of escapes off.
func (v *view) undisguised() (view, bool) {
	if !strings.ContainsAny(v.text, `\%&`) {
		return view{}, false
	}
	out := make([]byte, 0, len(v.text))
	at := make([]int, 0, len(v.text)+1)
	changed := false
	for i := 0; i < len(v.text); {
		plain, n := unescape(v.text[i:])
		if n == 0 {
			plain, n = v.text[i:i+1], 1
		} else {
			changed = true
		}
		for range len(plain) {
			at = append(at, v.offset(i))
		}
		out = append(out, plain...)
		i += n
	}
	at = append(at, v.offset(len(v.text)))
	return view{text: string(out), at: at}, changed
}

// unescape reads the escape that s begins with; n is 0 when it begins with none.
func unescape(s string) (plain string, n int) {
	switch s[0] {
	case '\\':
		return unescapeJSON(s)
	case '%':
		if len(s) >= 3 {
			if c, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
				return string([]byte{byte(c)}), 3
			}
		}
	case '&':
		if end := strings.IndexByte(s[:min(len(s), 12)], ';'); end > 1 {
			if plain := html.UnescapeString(s[:end+1]); plain != s[:end+1] {
				return plain, end + 1
			}
		}
	}
	return "", 0
}

func unescapeJSON(s string) (plain string, n int) {
	if len(s) >= 6 && s[1] == 'u' {
		if c, err := strconv.ParseUint(s[2:6], 16, 16); err == nil {
			return string(utf8.AppendRune(nil, rune(c))), 6
		}
	}
	if len(s) >= 2 {
		if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
			return "\"\\/\b\f\n\r\t"[i : i+1], 2
		}
	}
	return "", 0
}
