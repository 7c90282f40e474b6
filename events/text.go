package events

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
)

// data codes a length-delimited field and returns what was decoded.
func (c *coder) data(tag int, name string, b string, present bool) ([]byte, bool) {
	switch c.mode {
	case modeEncode:
		if present {
			c.key(tag, wireBytes)
			c.out = binary.AppendUvarint(c.out, uint64(len(b)))
			c.out = append(c.out, b...)
		}
	case modeDecode:
		if c.have(tag, wireBytes, name) {
			return c.block(name), true
		}
	}
	return nil, false
}

func (c *coder) string(tag int, name string, p *string) {
	if b, ok := c.data(tag, name, *p, *p != ""); ok {
		*p = string(b)
	}
	switch {
	case c.mode == modeToJSON && *p != "":
		c.member(name)
		c.out = appendJSONString(c.out, *p)
	case c.mode == modeFromJSON:
		c.from(name, (*text)(p))
	}
}

// word is a string of which there are few: a decoder keeps one copy of each.
func (c *coder) word(tag int, name string, p *string) {
	if c.mode != modeDecode {
		c.string(tag, name, p)
		return
	}
	if c.have(tag, wireBytes, name) {
		*p = c.keep(c.block(name))
	}
}

const (
	maxWord  = 64   // bytes of a word worth keeping
	maxWords = 4096 // words kept at a time
)

func (c *coder) keep(b []byte) string {
	if c.words == nil || len(b) > maxWord {
		return string(b)
	}
	if s, ok := c.words[string(b)]; ok {
		return s
	}
	if len(c.words) >= maxWords {
		clear(c.words)
	}
	s := string(b)
	c.words[s] = s
	return s
}

func (c *coder) strings(tag int, name string, p *[]string) {
	switch c.mode {
	case modeEncode:
		for _, s := range *p {
			c.data(tag, name, s, true)
		}
	case modeDecode:
		for c.have(tag, wireBytes, name) {
			if *p == nil {
				*p = make([]string, 0, c.ahead(tag))
			}
			*p = append(*p, c.keep(c.block(name)))
		}
	case modeToJSON:
		if len(*p) == 0 {
			return
		}
		c.member(name)
		for i, s := range *p {
			c.out = append(c.out, "[,"[min(i, 1)])
			c.out = appendJSONString(c.out, s)
		}
		c.out = append(c.out, ']')
	case modeFromJSON:
		var all []text
		c.from(name, &all)
		for _, s := range all {
			*p = append(*p, string(s))
		}
	}
}

// raw codes bytes; JSON writes them in base64.
func (c *coder) raw(tag int, name string, p *[]byte) {
	if b, ok := c.data(tag, name, string(*p), len(*p) > 0); ok {
		*p = append([]byte(nil), b...)
	}
	switch {
	case c.mode == modeToJSON && len(*p) > 0:
		c.member(name)
		c.base64(*p)
	case c.mode == modeFromJSON:
		c.from(name, p)
	}
}

func (c *coder) base64(b []byte) {
	c.out = append(c.out, '"')
	c.out = base64.StdEncoding.AppendEncode(c.out, b)
	c.out = append(c.out, '"')
}

func (c *coder) digest(tag int, name string, p *Digest) {
	switch c.mode {
	case modeEncode:
		if !p.IsZero() {
			c.key(tag, wireBytes)
			c.out = append(c.out, byte(len(p)))
			c.out = append(c.out, p[:]...)
		}
	case modeDecode:
		if c.have(tag, wireBytes, name) {
			if b := c.block(name); copy(p[:], b) != len(p) || len(b) != len(p) {
				c.fail(name)
			}
		}
	case modeToJSON:
		if !p.IsZero() {
			c.member(name)
			c.out = append(c.out, '"')
			c.out = hex.AppendEncode(c.out, p[:])
			c.out = append(c.out, '"')
		}
	case modeFromJSON:
		c.jsonDigest(name, p)
	}
}

func (c *coder) jsonDigest(name string, p *Digest) {
	var s string
	if c.from(name, &s); s == "" {
		return
	}
	if b, err := hex.DecodeString(s); err != nil || copy(p[:], b) != len(p) || len(b) != len(p) {
		c.fail(name)
	}
}

// scope is stored as one string: the kind's number as its first byte, then the
// name.
func (c *coder) scope(tag int, name string, p *Scope) { //nolint:unparam // every field has a name of its own
	switch c.mode {
	case modeEncode:
		if p.Kind != ScopeUnset {
			c.key(tag, wireBytes)
			c.out = binary.AppendUvarint(c.out, uint64(len(p.Name)+1))
			c.out = append(append(c.out, byte(p.Kind)), p.Name...)
		}
	case modeDecode:
		if !c.have(tag, wireBytes, name) {
			return
		}
		b := c.block(name)
		if len(b) == 0 {
			c.fail(name)
			return
		}
		*p = Scope{Kind: ScopeKind(b[0]), Name: c.keep(b[1:])}
	case modeToJSON:
		if p.Kind != ScopeUnset {
			c.member(name)
			c.out = appendJSONString(c.out, scopeText(*p))
		}
	case modeFromJSON:
		*p = c.jsonScope(name)
	}
}

func (c *coder) jsonScope(name string) Scope {
	var s text
	if c.from(name, &s); s == "" {
		return Scope{}
	}
	v, ok := parseScopeText(string(s))
	if !ok {
		c.fail(name)
	}
	return v
}

// scopeText is String, or "#N:NAME" for a scope that this vocabulary does not
// have (a newer binary's, or one with a name that its kind does not take).
func scopeText(s Scope) string {
	if v, ok := ParseScope(s.String()); ok && v == s {
		return s.String()
	}
	return "#" + strconv.Itoa(int(s.Kind)) + ":" + s.Name
}

func parseScopeText(s string) (Scope, bool) {
	if !strings.HasPrefix(s, "#") {
		return ParseScope(s)
	}
	kind, name, _ := strings.Cut(s[1:], ":")
	n, err := strconv.ParseUint(kind, 10, 8)
	return Scope{Kind: ScopeKind(n), Name: name}, err == nil
}
