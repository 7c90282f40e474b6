package config

import (
	"fmt"
	"regexp"
	"strings"
)

// veilBase is where a veiled character stands: a private use area of Unicode.
const veilBase = 0xe000

// closedVariable is a variable on one line of the text.
var closedVariable = regexp.MustCompile(`\$?\$\{[^}\n"]*\}`)

// veil hides the characters of each ${VARIABLE} from the YAML parser, for which
// a brace or a comma ends a value in {a: ${B}}. Lines and columns stay. The
// variables are filled in after parsing, so that a value can never become YAML.
func veil(text []byte) []byte {
	return closedVariable.ReplaceAllFunc(text, func(m []byte) []byte {
		out := make([]rune, 0, len(m))
		for _, c := range string(m) {
			if c < 0x80 {
				c += veilBase
			}
			out = append(out, c)
		}
		return []byte(string(out))
	})
}

// unveil undoes veil in what the parser returned.
func unveil(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= veilBase && c < veilBase+0x80 {
			return c - veilBase
		}
		return c
	}, s)
}

// variable is ${NAME} or ${NAME:-default}, also one that is not closed; $${ is
// a literal ${.
var variable = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

// expand fills variables in.
func (r *reader) expand(s string, p Position) (string, bool) {
	ok := true
	out := variable.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		v, found := r.lookup(m, p)
		ok = ok && found
		return v
	})
	return out, ok
}

func (r *reader) lookup(m string, p Position) (string, bool) {
	body, closed := strings.CutSuffix(m[2:], "}")
	name, otherwise, has := strings.Cut(body, ":-")
	if !closed || !isName(name) {
		r.fault(p, "write ${NAME} or ${NAME:-default}; $${ stands for a plain ${", "%q is no variable", m)
		return "", false
	}
	v, set := r.env(name)
	switch {
	case set && (v != "" || !has):
		return v, true
	case has:
		return otherwise, true
	}
	r.fault(p, fmt.Sprintf("set %s, or write ${%s:-default}", name, name), "variable %s is not set", name)
	return "", false
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9' || i == 0) {
			return false
		}
	}
	return s != ""
}
