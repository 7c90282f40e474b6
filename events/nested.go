package events

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
)

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
			at := c.open(tag)
			P(*p).fields(c)
			c.shut(at)
		}
	case modeDecode:
		if c.have(tag, wireBytes, name) {
			*p = new(T)
			o := c.enter(name)
			P(*p).fields(c)
			c.leave(o)
		}
	case modeToJSON:
		if *p != nil {
			c.member(name)
			object[T, P](c, *p)
		}
	case modeFromJSON:
		if raw, ok := c.obj[name]; ok && string(raw) != "null" {
			*p = new(T)
			parse[T, P](c, name, raw, *p)
		}
	}
}

// inline codes a nested struct that is always present.
func inline[T any, P fielder[T]](c *coder, tag int, name string, p *T) {
	switch c.mode {
	case modeDecode:
		if c.have(tag, wireBytes, name) {
			o := c.enter(name)
			P(p).fields(c)
			c.leave(o)
		}
	case modeFromJSON:
		if raw, ok := c.obj[name]; ok && string(raw) != "null" {
			parse[T, P](c, name, raw, p)
		}
	default:
		message[T, P](c, tag, name, &p)
	}
}

// repeated codes a list of structs.
func repeated[T any, P fielder[T]](c *coder, tag int, name string, p *[]T) {
	switch c.mode {
	case modeEncode:
		for i := range *p {
			at := c.open(tag)
			P(&(*p)[i]).fields(c)
			c.shut(at)
		}
	case modeDecode:
		for c.have(tag, wireBytes, name) {
			if *p == nil {
				*p = make([]T, 0, c.ahead(tag))
			}
			*p = append(*p, *new(T))
			o := c.enter(name)
			P(&(*p)[len(*p)-1]).fields(c)
			c.leave(o)
		}
	case modeToJSON:
		if len(*p) == 0 {
			return
		}
		c.member(name)
		for i := range *p {
			c.out = append(c.out, "[,"[min(i, 1)])
			object[T, P](c, &(*p)[i])
		}
		c.out = append(c.out, ']')
	case modeFromJSON:
		var raws []json.RawMessage
		c.from(name, &raws)
		for _, raw := range raws {
			*p = append(*p, *new(T))
			parse[T, P](c, name, raw, &(*p)[len(*p)-1])
		}
	}
}

func object[T any, P fielder[T]](c *coder, p *T) {
	sep := c.sep
	c.sep = false
	c.out = append(c.out, '{')
	P(p).fields(c)
	c.out = append(c.out, '}')
	c.sep = sep
}

func parse[T any, P fielder[T]](c *coder, name string, raw json.RawMessage, p *T) {
	obj := c.obj
	c.read(name, raw)
	P(p).fields(c)
	c.obj = obj
}

// read makes a JSON object the one at hand.
func (c *coder) read(name string, raw json.RawMessage) {
	c.obj = nil
	if err := json.Unmarshal(raw, &c.obj); err != nil && c.err == nil {
		c.err = fmt.Errorf("field %s: %w", name, err)
	}
}

// uints codes a list of small numbers, packed.
func uints(c *coder, tag int, name string, p *[]uint32) {
	switch c.mode {
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
	default:
		packed(c, tag, name, p, 1<<32-1)
	}
}

// packed is the stored form of a list of numbers up to a greatest one.
func packed[T ~uint8 | ~uint32](c *coder, tag int, name string, p *[]T, most uint64) {
	switch {
	case c.mode == modeEncode && len(*p) > 0:
		at := c.open(tag)
		for _, v := range *p {
			c.out = binary.AppendUvarint(c.out, uint64(v))
		}
		c.shut(at)
	case c.mode == modeDecode && c.have(tag, wireBytes, name):
		b := c.block(name)
		after := c.in
		*p = make([]T, 0, varints(b))
		for c.in = b; len(c.in) > 0 && c.err == nil; {
			v := c.varint(name)
			if v > most {
				c.fail(name)
			}
			*p = append(*p, T(v))
		}
		c.in = after
	}
}

// varints counts the varints in b.
func varints(b []byte) (n int) {
	for _, x := range b {
		if x < 0x80 {
			n++
		}
	}
	return n
}

// enums codes a list of words of one vocabulary.
func enums[T ~uint8](c *coder, tag int, name string, p *[]T, names []string) {
	switch c.mode {
	case modeToJSON:
		if len(*p) == 0 {
			return
		}
		c.member(name)
		for i, v := range *p {
			c.out = append(c.out, "[,"[min(i, 1)])
			c.out = appendEnum(c.out, v, names)
		}
		c.out = append(c.out, ']')
	case modeFromJSON:
		var raws []json.RawMessage
		c.from(name, &raws)
		for _, raw := range raws {
			*p = append(*p, enumOf[T](c, name, raw, names))
		}
	default:
		packed(c, tag, name, p, 255)
	}
}
