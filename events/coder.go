package events

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// coder walks the fields of a payload. Each struct lists its fields once, in
// ascending tag order, and the same list encodes, decodes, writes canonical
// JSON, reads it and describes itself for the catalogue: the codec cannot
// disagree with itself.
//
// The stored form is the protobuf wire format (varint and length-delimited
// fields only). A field at its zero value is not written; a tag that this
// binary does not know is skipped; an optional value is written even when it
// is zero, because absent is not zero.
type coder struct {
	mode coderMode
	err  error

	out []byte // encode, JSON
	sep bool   // JSON: a field was written before in this object

	in   []byte // decode: what is left of this message
	next uint64 // decode: key read ahead, zero when none

	obj map[string]json.RawMessage // JSON read: the object at hand

	describe func(tag int, name, kind string, nested func(*coder))
}

type coderMode uint8

const (
	modeEncode coderMode = iota
	modeDecode
	modeToJSON
	modeFromJSON
	modeDescribe
)

const (
	wireVarint = 0
	wireBytes  = 2
)

// ErrMalformed is a stored payload that cannot be read.
var ErrMalformed = errors.New("malformed payload")

func (c *coder) fail(name string) {
	if c.err == nil {
		c.err = fmt.Errorf("field %s: %w", name, ErrMalformed)
	}
}

// have says whether the field stands next in the input, skipping older or
// unknown tags before it.
func (c *coder) have(tag int, wire uint64, name string) bool {
	for c.err == nil {
		if c.next == 0 {
			if len(c.in) == 0 {
				return false
			}
			c.next = c.varint(name)
			if c.next>>3 == 0 {
				c.fail(name)
			}
			continue
		}
		switch at := c.next >> 3; {
		case at > uint64(tag):
			return false
		case at < uint64(tag):
			c.skip(name)
		case c.next&7 != wire:
			c.fail(name)
		default:
			c.next = 0
			return true
		}
	}
	return false
}

func (c *coder) skip(name string) {
	switch c.next & 7 {
	case wireVarint:
		c.varint(name)
	case wireBytes:
		c.block(name)
	default:
		c.fail(name)
	}
	c.next = 0
}

func (c *coder) varint(name string) uint64 {
	v, n := binary.Uvarint(c.in)
	if n <= 0 {
		c.fail(name)
		c.in = nil
		return 0
	}
	c.in = c.in[n:]
	return v
}

func (c *coder) block(name string) []byte {
	n := c.varint(name)
	if n > uint64(len(c.in)) {
		c.fail(name)
		c.in = nil
		return nil
	}
	b := c.in[:n]
	c.in = c.in[n:]
	return b
}

func (c *coder) key(tag int, wire uint64) {
	c.out = binary.AppendUvarint(c.out, uint64(tag)<<3|wire)
}

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

// number codes v as a varint and, in JSON, as a plain number.
func (c *coder) number(tag int, name, kind string, v uint64, present bool) (uint64, bool) {
	switch c.mode {
	case modeEncode:
		if present {
			c.key(tag, wireVarint)
			c.out = binary.AppendUvarint(c.out, v)
		}
	case modeDecode:
		if c.have(tag, wireVarint, name) {
			return c.varint(name), true
		}
	case modeDescribe:
		c.describe(tag, name, kind, nil)
	}
	return v, false
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

func (c *coder) uint64(tag int, name string, p *uint64) {
	if v, ok := c.number(tag, name, "uint", *p, *p != 0); ok {
		*p = v
	}
	switch {
	case c.mode == modeToJSON && *p != 0:
		c.member(name)
		c.out = strconv.AppendUint(c.out, *p, 10)
	case c.mode == modeFromJSON:
		c.from(name, p)
	}
}

func (c *coder) uint32(tag int, name string, p *uint32) {
	v := uint64(*p)
	c.uint64(tag, name, &v)
	if v > 1<<32-1 {
		c.fail(name)
		return
	}
	if *p != uint32(v) {
		*p = uint32(v)
	}
}

func (c *coder) signed(tag int, name, kind string, p *int64, present bool) (found bool) {
	if v, ok := c.number(tag, name, kind, zigzag(*p), present); ok {
		*p = unzigzag(v)
		found = true
	}
	switch {
	case c.mode == modeToJSON && present:
		c.member(name)
		c.out = strconv.AppendInt(c.out, *p, 10)
	case c.mode == modeFromJSON:
		if raw, ok := c.obj[name]; ok && string(raw) != "null" {
			c.from(name, p)
			found = true
		}
	}
	return found
}

func (c *coder) int64(tag int, name string, p *int64) { c.signed(tag, name, "int", p, *p != 0) }

func (c *coder) ref(tag int, name string, p *Ref) {
	v := int64(*p)
	c.signed(tag, name, "ref", &v, v != 0)
	if *p != Ref(v) { // encoding writes nothing: others may be reading
		*p = Ref(v)
	}
}

func (c *coder) position(tag int, name string, p *Position) {
	v := uint64(*p)
	c.uint64(tag, name, &v)
	if *p != Position(v) {
		*p = Position(v)
	}
}

// duration is stored and written in microseconds.
func (c *coder) duration(tag int, name string, p *time.Duration) {
	us := p.Microseconds()
	c.signed(tag, name+"_us", "duration", &us, us != 0)
	if us != p.Microseconds() {
		*p = time.Duration(us) * time.Microsecond
	}
}

func (c *coder) optInt(tag int, name string, p *OptInt) {
	if c.signed(tag, name, "int?", &p.V, p.Set) {
		p.Set = true
	}
}

func (c *coder) bool(tag int, name string, p *bool) {
	var n uint64
	if *p {
		n = 1
	}
	if v, ok := c.number(tag, name, "bool", n, *p); ok {
		*p = v != 0
	}
	switch {
	case c.mode == modeToJSON && *p:
		c.member(name)
		c.out = append(c.out, "true"...)
	case c.mode == modeFromJSON:
		c.from(name, p)
	}
}

func (c *coder) optBool(tag int, name string, p *OptBool) {
	if v, ok := c.number(tag, name, "bool?", uint64(*p), *p != Absent); ok {
		if v > uint64(Yes) {
			c.fail(name)
		}
		*p = OptBool(v)
	}
	switch {
	case c.mode == modeToJSON && *p != Absent:
		c.member(name)
		c.out = strconv.AppendBool(c.out, *p == Yes)
	case c.mode == modeFromJSON:
		var v *bool
		if c.from(name, &v); v != nil {
			*p = Bool(*v)
		}
	}
}

func (c *coder) time(tag int, name string, p *Time) {
	if v, ok := c.number(tag, name, "time", zigzag(int64(*p)), *p != 0); ok {
		*p = Time(unzigzag(v))
	}
	switch {
	case c.mode == modeToJSON && *p != 0:
		c.member(name)
		c.out = append(c.out, '"')
		c.out = p.Std().AppendFormat(c.out, timeLayout)
		c.out = append(c.out, '"')
	case c.mode == modeFromJSON:
		c.from(name, p)
	}
}

func (c *coder) decimal(tag int, name string, p *Decimal) {
	o := OptDecimal{V: *p, Set: *p != 0}
	c.optDecimal(tag, name, &o)
	if *p != o.V {
		*p = o.V
	}
}

func (c *coder) optDecimal(tag int, name string, p *OptDecimal) {
	if v, ok := c.number(tag, name, "decimal?", zigzag(int64(p.V)), p.Set); ok {
		*p = OptDecimal{V: Decimal(unzigzag(v)), Set: true}
	}
	switch {
	case c.mode == modeToJSON && p.Set:
		c.member(name)
		c.out = append(c.out, p.V.String()...)
	case c.mode == modeFromJSON:
		if raw, ok := c.obj[name]; ok && string(raw) != "null" {
			v, ok := ParseDecimal(string(raw))
			if !ok {
				c.fail(name)
			}
			*p = OptDecimal{V: v, Set: true}
		}
	}
}

// data codes a length-delimited field and returns what was decoded.
func (c *coder) data(tag int, name, kind string, b string, present bool) ([]byte, bool) {
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
	case modeDescribe:
		c.describe(tag, name, kind, nil)
	}
	return nil, false
}

func (c *coder) string(tag int, name string, p *string) {
	if b, ok := c.data(tag, name, "string", *p, *p != ""); ok {
		*p = string(b)
	}
	switch {
	case c.mode == modeToJSON && *p != "":
		c.member(name)
		c.out = appendJSONString(c.out, *p)
	case c.mode == modeFromJSON:
		c.from(name, p)
	}
}

func (c *coder) strings(tag int, name string, p *[]string) {
	switch c.mode {
	case modeEncode:
		for _, s := range *p {
			c.data(tag, name, "", s, true)
		}
	case modeDecode:
		for c.have(tag, wireBytes, name) {
			*p = append(*p, string(c.block(name)))
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
		c.from(name, p)
	case modeDescribe:
		c.describe(tag, name, "[]string", nil)
	}
}

// raw codes bytes; JSON writes them in base64.
func (c *coder) raw(tag int, name string, p *[]byte) {
	if b, ok := c.data(tag, name, "bytes", string(*p), len(*p) > 0); ok {
		*p = append([]byte(nil), b...)
	}
	switch {
	case c.mode == modeToJSON && len(*p) > 0:
		c.member(name)
		c.out = append(c.out, '"')
		c.out = base64.StdEncoding.AppendEncode(c.out, *p)
		c.out = append(c.out, '"')
	case c.mode == modeFromJSON:
		c.from(name, p)
	}
}

func (c *coder) digest(tag int, name string, p *Digest) {
	var s string
	if c.mode == modeEncode && !p.IsZero() {
		c.key(tag, wireBytes)
		c.out = append(c.out, byte(len(p)))
		c.out = append(c.out, p[:]...)
		return
	}
	if b, ok := c.data(tag, name, "digest", "", false); ok {
		if copy(p[:], b) != len(p) || len(b) != len(p) {
			c.fail(name)
		}
	}
	switch {
	case c.mode == modeToJSON && !p.IsZero():
		c.member(name)
		c.out = append(c.out, '"')
		c.out = hex.AppendEncode(c.out, p[:])
		c.out = append(c.out, '"')
	case c.mode == modeFromJSON:
		if c.from(name, &s); s != "" {
			if b, err := hex.DecodeString(s); err != nil || copy(p[:], b) != len(p) || len(b) != len(p) {
				c.fail(name)
			}
		}
	}
}

func (c *coder) scope(tag int, name string, p *Scope) {
	// Stored as one string: the kind's number as its first byte, then the name.
	var s string
	if c.mode == modeEncode && p.Kind != ScopeUnset {
		c.key(tag, wireBytes)
		c.out = binary.AppendUvarint(c.out, uint64(len(p.Name)+1))
		c.out = append(append(c.out, byte(p.Kind)), p.Name...)
		return
	}
	if b, ok := c.data(tag, name, "scope", "", false); ok {
		if len(b) == 0 || int(b[0]) >= len(scopeNames) {
			c.fail(name)
			return
		}
		*p = Scope{Kind: ScopeKind(b[0]), Name: string(b[1:])}
	}
	switch {
	case c.mode == modeToJSON && p.Kind != ScopeUnset:
		c.member(name)
		c.out = appendJSONString(c.out, p.String())
	case c.mode == modeFromJSON:
		if c.from(name, &s); s != "" {
			v, ok := ParseScope(s)
			if !ok {
				c.fail(name)
			}
			*p = v
		}
	}
}

// enum codes a closed vocabulary: its number in storage, its name in JSON.
func enum[T ~uint8](c *coder, tag int, name string, p *T, names []string) {
	if v, ok := c.number(tag, name, "enum", uint64(*p), *p != 0); ok {
		if v > 255 {
			c.fail(name)
		}
		*p = T(v)
	}
	switch {
	case c.mode == modeToJSON && *p != 0:
		c.member(name)
		if int(*p) < len(names) {
			c.out = appendJSONString(c.out, names[*p])
		} else {
			c.out = strconv.AppendUint(c.out, uint64(*p), 10) // a newer binary's word
		}
	case c.mode == modeFromJSON:
		enumFromJSON(c, name, p, names)
	}
}

func enumFromJSON[T ~uint8](c *coder, name string, p *T, names []string) {
	raw, ok := c.obj[name]
	if !ok {
		return
	}
	if len(raw) > 0 && raw[0] != '"' {
		var n uint8
		c.from(name, &n)
		*p = T(n)
		return
	}
	var s string
	c.from(name, &s)
	v, ok := parseName[T](names, s)
	if !ok {
		c.fail(name)
	}
	*p = v
}

// fielder is a struct that lists its fields.
type fielder[T any] interface {
	*T
	fields(*coder)
}

// message codes an optional nested struct.
func message[T any, P fielder[T]](c *coder, tag int, name string, p **T) {
	switch c.mode {
	case modeEncode:
		if *p != nil {
			c.nested(tag, P(*p).fields)
		}
	case modeDecode:
		if c.have(tag, wireBytes, name) {
			*p = new(T)
			c.inside(c.block(name), P(*p).fields)
		}
	case modeToJSON:
		if *p != nil {
			c.member(name)
			c.object(P(*p).fields)
		}
	case modeFromJSON:
		if raw, ok := c.obj[name]; ok && string(raw) != "null" {
			*p = new(T)
			c.parse(name, raw, P(*p).fields)
		}
	case modeDescribe:
		c.describe(tag, name, "message", P(new(T)).fields)
	}
}

// repeated codes a list of structs.
func repeated[T any, P fielder[T]](c *coder, tag int, name string, p *[]T) {
	switch c.mode {
	case modeEncode:
		for i := range *p {
			c.nested(tag, P(&(*p)[i]).fields)
		}
	case modeDecode:
		for c.have(tag, wireBytes, name) {
			*p = append(*p, *new(T))
			c.inside(c.block(name), P(&(*p)[len(*p)-1]).fields)
		}
	case modeToJSON:
		if len(*p) == 0 {
			return
		}
		c.member(name)
		for i := range *p {
			c.out = append(c.out, "[,"[min(i, 1)])
			c.object(P(&(*p)[i]).fields)
		}
		c.out = append(c.out, ']')
	case modeFromJSON:
		var raws []json.RawMessage
		c.from(name, &raws)
		for _, raw := range raws {
			*p = append(*p, *new(T))
			c.parse(name, raw, P(&(*p)[len(*p)-1]).fields)
		}
	case modeDescribe:
		c.describe(tag, name, "[]message", P(new(T)).fields)
	}
}

// nested writes a length-delimited message, guessing a one-byte length.
func (c *coder) nested(tag int, fields func(*coder)) {
	c.key(tag, wireBytes)
	at := len(c.out)
	c.out = append(c.out, 0)
	fields(c)
	n := len(c.out) - at - 1
	if n < 0x80 {
		c.out[at] = byte(n)
		return
	}
	var head [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(head[:], uint64(n))
	c.out = append(c.out, head[:size-1]...) // make room
	copy(c.out[at+size:], c.out[at+1:at+1+n])
	copy(c.out[at:], head[:size])
}

// inside decodes a nested message that has its own input.
func (c *coder) inside(b []byte, fields func(*coder)) {
	in, next := c.in, c.next
	c.in, c.next = b, 0
	fields(c)
	c.rest()
	c.in, c.next = in, next
}

// rest walks the unknown fields at the end, so that garbage is noticed.
func (c *coder) rest() { c.have(1<<28, wireVarint, "unknown") }

func (c *coder) object(fields func(*coder)) {
	sep := c.sep
	c.sep = false
	c.out = append(c.out, '{')
	fields(c)
	c.out = append(c.out, '}')
	c.sep = sep
}

func (c *coder) parse(name string, raw json.RawMessage, fields func(*coder)) {
	obj := c.obj
	c.obj = nil
	if err := json.Unmarshal(raw, &c.obj); err != nil && c.err == nil {
		c.err = fmt.Errorf("field %s: %w", name, err)
	}
	fields(c)
	c.obj = obj
}

func appendJSONString(b []byte, s string) []byte {
	plain := true
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] == '"' || s[i] == '\\' || s[i] >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	enc, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return append(b, `""`...)
	}
	return append(b, enc...)
}

// inline codes a nested struct that is always present.
func inline[T any, P fielder[T]](c *coder, tag int, name string, p *T) {
	switch c.mode {
	case modeDecode:
		if c.have(tag, wireBytes, name) {
			c.inside(c.block(name), P(p).fields)
		}
	case modeFromJSON:
		if raw, ok := c.obj[name]; ok && string(raw) != "null" {
			c.parse(name, raw, P(p).fields)
		}
	default:
		message[T, P](c, tag, name, &p)
	}
}

// uints codes a list of small numbers, packed.
func uints(c *coder, tag int, name string, p *[]uint32) {
	switch c.mode {
	case modeEncode:
		if len(*p) == 0 {
			return
		}
		c.nested(tag, func(c *coder) {
			for _, v := range *p {
				c.out = binary.AppendUvarint(c.out, uint64(v))
			}
		})
	case modeDecode:
		if c.have(tag, wireBytes, name) {
			b := c.block(name)
			after := c.in
			for c.in = b; len(c.in) > 0 && c.err == nil; {
				v := c.varint(name)
				if v > 1<<32-1 {
					c.fail(name)
				}
				*p = append(*p, uint32(v))
			}
			c.in = after
		}
	case modeToJSON:
		if len(*p) == 0 {
			return
		}
		c.member(name)
		for i, v := range *p {
			c.out = append(c.out, "[,"[min(i, 1)])
			c.out = strconv.AppendUint(c.out, uint64(v), 10)
		}
		c.out = append(c.out, ']')
	case modeFromJSON:
		c.from(name, p)
	case modeDescribe:
		c.describe(tag, name, "[]uint", nil)
	}
}

// enums codes a list of words of one vocabulary.
func enums[T ~uint8](c *coder, tag int, name string, p *[]T, names []string) {
	if c.mode == modeToJSON || c.mode == modeFromJSON {
		var words []string
		for _, v := range *p {
			words = append(words, nameOf(names, v))
		}
		c.strings(tag, name, &words)
		if c.mode == modeFromJSON {
			for _, w := range words {
				v, ok := parseName[T](names, w)
				if !ok {
					c.fail(name)
				}
				*p = append(*p, v)
			}
		}
		return
	}
	nums := make([]uint32, len(*p))
	for i, v := range *p {
		nums[i] = uint32(v)
	}
	if uints(c, tag, name, &nums); c.mode == modeDecode {
		for _, v := range nums {
			if v > 255 {
				c.fail(name)
			}
			*p = append(*p, T(v))
		}
	}
}
