package events

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"time"
)

// number is the stored form of every scalar: a varint, written when present.
// Encoding writes nothing into the payload: folds may be reading it.
func (c *coder) number(tag int, name string, v uint64, present bool) (uint64, bool) {
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
	}
	return v, false
}

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

func unsigned[T ~uint32 | ~uint64](c *coder, tag int, name string, p *T) {
	v, found := c.number(tag, name, uint64(*p), *p != 0)
	switch {
	case c.mode == modeToJSON && *p != 0:
		c.member(name)
		c.out = strconv.AppendUint(c.out, uint64(*p), 10)
	case c.mode == modeFromJSON:
		v, found = jsonNumber(c, name, strconv.ParseUint)
	}
	if !found {
		return
	}
	if *p = T(v); uint64(*p) != v {
		c.fail(name)
	}
}

func (c *coder) uint64(tag int, name string, p *uint64)     { unsigned(c, tag, name, p) }
func (c *coder) uint32(tag int, name string, p *uint32)     { unsigned(c, tag, name, p) }
func (c *coder) position(tag int, name string, p *Position) { unsigned(c, tag, name, p) }

// signed codes a zigzag number; present says whether it is written.
func signed[T ~int64](c *coder, tag int, name string, p *T, present bool) (found bool) {
	v, found := c.number(tag, name, zigzag(int64(*p)), present)
	switch {
	case found:
		*p = T(unzigzag(v))
	case c.mode == modeToJSON && present:
		c.member(name)
		c.out = strconv.AppendInt(c.out, int64(*p), 10)
	case c.mode == modeFromJSON:
		var n int64
		if n, found = jsonNumber(c, name, strconv.ParseInt); found {
			*p = T(n)
		}
	}
	return found
}

func (c *coder) int64(tag int, name string, p *int64) { signed(c, tag, name, p, *p != 0) }
func (c *coder) ref(tag int, name string, p *Ref)     { signed(c, tag, name, p, *p != 0) }

func (c *coder) optInt(tag int, name string, p *OptInt) {
	if signed(c, tag, name, &p.V, p.Set) {
		p.Set = true
	}
}

// duration is stored and written in microseconds.
func (c *coder) duration(tag int, name string, p *time.Duration) {
	if c.mode == modeToJSON || c.mode == modeFromJSON {
		name += "_us"
	}
	us := p.Microseconds()
	if signed(c, tag, name, &us, us != 0) {
		*p = time.Duration(us) * time.Microsecond
	}
}

// given is a member of the object at hand that is not null.
func (c *coder) given(name string) (json.RawMessage, bool) {
	raw, ok := c.obj[name]
	return raw, ok && string(raw) != "null"
}

func jsonNumber[T int64 | uint64](c *coder, name string, parse func(string, int, int) (T, error)) (T, bool) {
	raw, ok := c.given(name)
	if !ok {
		return 0, false
	}
	v, err := parse(string(raw), 10, 64)
	if err != nil {
		c.fail(name)
	}
	return v, err == nil
}

func (c *coder) bool(tag int, name string, p *bool) {
	v, found := c.number(tag, name, 1, *p)
	switch {
	case found:
		*p = v != 0
	case c.mode == modeToJSON && *p:
		c.member(name)
		c.out = append(c.out, "true"...)
	case c.mode == modeFromJSON:
		*p = c.jsonBool(name) == Yes
	}
}

func (c *coder) optBool(tag int, name string, p *OptBool) {
	v, found := c.number(tag, name, uint64(*p), *p != Absent)
	switch {
	case found:
		if v > uint64(Yes) {
			c.fail(name)
		}
		*p = OptBool(v)
	case c.mode == modeToJSON && *p != Absent:
		c.member(name)
		c.out = strconv.AppendBool(c.out, *p == Yes)
	case c.mode == modeFromJSON:
		*p = c.jsonBool(name)
	}
}

func (c *coder) jsonBool(name string) OptBool {
	raw, ok := c.given(name)
	switch {
	case !ok:
		return Absent
	case string(raw) == "true":
		return Yes
	case string(raw) == "false":
		return No
	}
	c.fail(name)
	return Absent
}

func (c *coder) time(tag int, name string, p *Time) {
	v, found := c.number(tag, name, zigzag(int64(*p)), *p != 0)
	switch {
	case found:
		*p = Time(unzigzag(v))
	case c.mode == modeToJSON && *p != 0:
		c.member(name)
		c.out = appendInstant(c.out, *p)
	case c.mode == modeFromJSON:
		*p = c.jsonTime(name)
	}
}

func (c *coder) jsonTime(name string) Time {
	var v instant
	c.from(name, &v)
	return Time(v)
}

func (c *coder) decimal(tag int, name string, p *Decimal) {
	o := OptDecimal{V: *p, Set: *p != 0}
	if c.optDecimal(tag, name, &o) {
		*p = o.V
	}
}

func (c *coder) optDecimal(tag int, name string, p *OptDecimal) (found bool) {
	v, found := c.number(tag, name, zigzag(int64(p.V)), p.Set)
	switch {
	case found:
		*p = OptDecimal{V: Decimal(unzigzag(v)), Set: true}
	case c.mode == modeToJSON && p.Set:
		c.member(name)
		c.out = append(c.out, p.V.String()...)
	case c.mode == modeFromJSON:
		raw, ok := c.given(name)
		if !ok {
			return false
		}
		p.V, p.Set = exactDecimal(string(raw))
		if found = p.Set; !found {
			c.fail(name)
		}
	}
	return found
}

// enum codes a closed vocabulary: its number in storage, its name in JSON.
func enum[T ~uint8](c *coder, tag int, name string, p *T, names []string) {
	if v, ok := c.number(tag, name, uint64(*p), *p != 0); ok {
		if v > 255 {
			c.fail(name)
		}
		*p = T(v)
	}
	switch {
	case c.mode == modeToJSON && *p != 0:
		c.member(name)
		c.out = appendEnum(c.out, *p, names)
	case c.mode == modeFromJSON:
		if raw, ok := c.obj[name]; ok {
			*p = enumOf[T](c, name, raw, names)
		}
	}
}

// appendEnum writes a word, or the number of a newer binary's word.
func appendEnum[T ~uint8](b []byte, v T, names []string) []byte {
	if int(v) < len(names) {
		return appendJSONString(b, names[v])
	}
	return strconv.AppendUint(b, uint64(v), 10)
}

func enumOf[T ~uint8](c *coder, name string, raw json.RawMessage, names []string) T {
	if n, err := strconv.ParseUint(string(raw), 10, 8); err == nil {
		return T(n)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		c.fail(name)
		return 0
	}
	v, ok := parseName[T](names, s)
	if !ok {
		c.fail(name)
	}
	return v
}
