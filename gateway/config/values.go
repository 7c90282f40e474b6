package config

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/waybill/waybill/events"
)

// This file holds the readers of single values: each turns a node into a
// checked value, and its value back into text for the reference.

// value makes a field of one scalar.
func value(key, kind, doc string, parse func(string) (mend string, err error), show func() string) field {
	return field{key: key, kind: kind, doc: doc, show: show, read: func(r *reader, n ast.Node) {
		text, ok := r.scalar(n, key)
		if !ok {
			return
		}
		if mend, err := parse(text); err != nil {
			r.fault(at(n), mend, "%s: %v", key, err)
		}
	}}
}

// text is a string that must not be empty.
func text(key, doc string, p *string) field { return checked(key, doc, p, notEmpty) }

// checked is a string that a check lets pass.
func checked(key, doc string, p *string, check func(string) (mend string, err error)) field {
	return value(key, "text", doc, func(s string) (string, error) {
		*p = s
		return check(s)
	}, func() string { return *p })
}

func notEmpty(s string) (string, error) {
	if strings.TrimSpace(s) == "" {
		return "give it a value, or leave the key out", fmt.Errorf("is empty")
	}
	return "", nil
}

// secret is a credential: no blanks inside, never shown.
func secret(key, doc string, p *Secret) field {
	f := value(key, "secret", doc, func(s string) (string, error) {
		*p = NewSecret(s)
		return credentialText(s)
	}, func() string { return p.String() })
	read := f.read
	f.read = func(r *reader, n ast.Node) {
		*p = NewSecret("(unread)") // one that cannot be read is a fault of its own, not one that is missing
		read(r, n)
	}
	return f
}

// credentialText refuses what cannot be a key: the usual slips of pasting.
func credentialText(s string) (string, error) {
	if mend, err := notEmpty(s); err != nil {
		return mend, err
	}
	for _, c := range s {
		if c <= ' ' || c == 0x7f || c == 0xa0 || c == 0xfeff {
			return "remove spaces and line breaks from the key", fmt.Errorf("holds a blank or control character")
		}
	}
	return "", nil
}

func boolean(key, doc string, p *bool) field {
	return value(key, "true or false", doc, func(s string) (string, error) {
		v, err := strconv.ParseBool(s)
		*p = v
		if err != nil || s != "true" && s != "false" {
			return "write true or false", fmt.Errorf("%q is neither true nor false", s)
		}
		return "", nil
	}, func() string { return strconv.FormatBool(*p) })
}

// whole is an integer within bounds.
func whole[T int64 | uint64 | uint32](key, doc string, p *T, low, high T) field {
	return value(key, "number", doc, func(s string) (string, error) {
		mend := fmt.Sprintf("write a whole number from %d to %d", low, high)
		if high == T(math.MaxInt32) {
			mend = fmt.Sprintf("write a whole number, %d or more", low)
		}
		v, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
		if err != nil {
			return mend, fmt.Errorf("%q is no whole number", s)
		}
		if v < int64(low) || v > int64(high) {
			return mend, fmt.Errorf("%d is out of range", v)
		}
		*p = T(v)
		return "", nil
	}, func() string { return fmt.Sprint(*p) })
}

// percent is a decimal from 0 to 100.
func percent(key, doc string, p *events.Decimal) field {
	return value(key, "percent", doc, func(s string) (string, error) {
		v, ok := events.ParseDecimal(s)
		if !ok || v < 0 || v > 100*events.DecimalUnit {
			return "write a number from 0 to 100", fmt.Errorf("%q is no percentage", s)
		}
		*p = v
		return "", nil
	}, func() string { return p.String() })
}

// maxDuration bounds every setting that is a time: 400 days, as R19 does.
const maxDuration = 400 * 24 * time.Hour

// duration is a time such as 300ms, 2s, 5m or 24h, within bounds.
func duration(key, doc string, p *time.Duration, low time.Duration) field {
	return value(key, "duration", doc, func(s string) (string, error) {
		mend := fmt.Sprintf("write a time from %s to 9600h, such as 300ms, 2s, 5m or 24h", short(low))
		v, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return mend, fmt.Errorf("%q is no duration", s)
		case v < low || v > maxDuration:
			return mend, fmt.Errorf("%s is out of range", s)
		}
		*p = v
		return "", nil
	}, func() string {
		if *p == 0 {
			return ""
		}
		return short(*p)
	})
}

// short writes 30m0s as 30m.
func short(d time.Duration) string {
	s := d.String()
	if t, ok := strings.CutSuffix(s, "m0s"); ok {
		s = t + "m"
	}
	if t, ok := strings.CutSuffix(s, "h0m"); ok {
		s = t + "h"
	}
	return s
}

// sizeUnits in the order in which a suffix is looked for.
func sizeUnits() []struct {
	suffix string
	bytes  uint64
} {
	return []struct {
		suffix string
		bytes  uint64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}
}

func size(key, doc string, p *uint64, low, high uint64) field {
	return value(key, "size", doc, func(s string) (string, error) {
		mend := fmt.Sprintf("write a size from %s to %s, such as 64MiB", sizeText(low), sizeText(high))
		v, err := parseSize(s)
		if err != nil {
			return mend, err
		}
		if v < low || v > high {
			return mend, fmt.Errorf("%s is out of range", s)
		}
		*p = v
		return "", nil
	}, func() string { return sizeText(*p) })
}

func parseSize(s string) (uint64, error) {
	number, unit := strings.TrimSpace(s), uint64(1)
	for _, u := range sizeUnits() {
		if n, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	v, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no size", s)
	}
	return v * unit, nil
}

func sizeText(v uint64) string {
	for _, u := range sizeUnits()[:3] {
		if v >= u.bytes && v%u.bytes == 0 {
			return fmt.Sprintf("%d%s", v/u.bytes, u.suffix)
		}
	}
	return fmt.Sprintf("%dB", v)
}

// word is one of a closed vocabulary.
func word[T fmt.Stringer](key, doc string, p *T, words []string, parse func(string) (T, bool)) field {
	return value(key, strings.Join(words, " or "), doc, func(s string) (string, error) {
		v, ok := parse(s)
		if !ok || !slices.Contains(words, s) {
			return didYouMean(s, words), fmt.Errorf("%q is not known", s)
		}
		*p = v
		return "", nil
	}, func() string { return (*p).String() })
}

// choice is a word kept as text.
func choice(key, doc string, p *string, words []string) field {
	return value(key, strings.Join(words, ", "), doc, func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return didYouMean(s, words), fmt.Errorf("%q is not known", s)
		}
		*p = s
		return "", nil
	}, func() string { return *p })
}

// texts is a list of strings, each checked.
func texts(key, doc string, p *[]string, check func(string) (mend string, err error)) field {
	return field{key: key, kind: "list of text", doc: doc, show: func() string { return strings.Join(*p, ", ") }, read: func(r *reader, n ast.Node) {
		for _, item := range r.items(n, key) {
			s, ok := r.scalar(item, "an item of "+key)
			if !ok {
				continue
			}
			if mend, err := check(s); err != nil {
				r.fault(at(item), mend, "%s: %v", key, err)
				continue
			}
			*p = append(*p, s)
		}
	}}
}

// headers is a mapping of names of headers to values that may be secret.
func headers(key, doc string, p *map[string]Secret) field {
	return field{key: key, kind: "mapping of text", doc: doc, show: func() string { return "" }, read: func(r *reader, n ast.Node) {
		pairs, ok := r.entries(n)
		if !ok {
			r.fault(at(n), "write it as `Name: value` lines", "%s must be a mapping", key)
			return
		}
		*p = make(map[string]Secret, len(pairs))
		for _, pair := range pairs {
			name := unveil(pair.Key.GetToken().Value)
			r.headerName(at(pair.Key), key, name, *p)
			if s, ok := r.scalar(pair.Value, key+"."+name); ok {
				r.headerValue(at(pair.Value), key+"."+name, s)
				(*p)[name] = NewSecret(s)
			}
		}
	}}
}

// headerName refuses what a request cannot carry, and what Waybill sets itself.
func (r *reader) headerName(p Position, key, name string, seen map[string]Secret) {
	token := name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	})
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !token:
		r.fault(p, "use letters, digits and dashes", "%s: %q is no name of a header", key, name)
	case slices.Contains([]string{"Host", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer"}, canonical):
		r.fault(p, "leave it out", "%s: %s belongs to the connection, and is set for each request", key, canonical)
	}
	for other := range seen {
		if http.CanonicalHeaderKey(other) == canonical {
			r.fault(p, "keep one of them", "%s: %s stands twice", key, canonical)
		}
	}
}

// headerValue refuses what would end the header, without showing it.
func (r *reader) headerValue(p Position, key, value string) {
	if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		r.fault(p, "remove line breaks and control characters", "%s: its value cannot be sent in a header", key)
	}
}

// blocks is a list of mappings; fields gives the rows of one element.
func blocks[T any](key, doc string, p *[]T, fields func(*T) []field, place func(*T, Position)) field {
	return field{
		key: key, kind: "list", doc: doc, show: func() string { return "" },
		sub: func() []field {
			e := new(T)
			place(e, Position{})
			return fields(e)
		},
		read: func(r *reader, n ast.Node) {
			for _, item := range r.items(n, key) {
				*p = append(*p, *new(T))
				e := &(*p)[len(*p)-1]
				place(e, at(item))
				r.block(item, "an item of "+key, fields(e))
			}
		},
	}
}

// nested is a mapping inside a mapping.
func nested(key, doc string, fields func() []field, place func(Position)) field {
	return field{key: key, kind: "block", doc: doc, show: func() string { return "" }, sub: fields,
		read: func(r *reader, n ast.Node) {
			place(at(n))
			r.block(n, key, fields())
		}}
}
