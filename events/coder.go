package events

import (
	"encoding/json"
	"errors"
)

// coder walks the fields of a payload. Each struct lists its fields once, in
// ascending tag order, and the same list encodes, decodes, writes canonical
// JSON and reads it: the codec cannot disagree with itself. The catalogue
// (docs/events.md) is generated from the same lists.
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

	words map[string]string // decode: strings that come again and again, nil: none kept
}

type coderMode uint8

const (
	modeEncode coderMode = iota
	modeDecode
	modeToJSON
	modeFromJSON
)

const (
	wireVarint = 0
	wireBytes  = 2
)

// ErrMalformed is a stored payload that cannot be read.
var ErrMalformed = errors.New("malformed payload")
