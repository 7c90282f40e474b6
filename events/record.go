package events

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
)

// CodecWire is the codec byte of the stored form that coder writes.
const CodecWire byte = 1

// Record is an event in its stored form: what is hashed, kept and exported.
// A ledger driver stores Records and knows nothing of payloads.
type Record struct {
	Header
	Kind    Kind
	Version uint16 // schema version of the payload
	Codec   byte
	Payload []byte // exact bytes, as hashed
}

// Codec seals and opens records; the zero one is ready. It keeps working memory
// and one copy of the strings that come again and again, so a long read should
// use one throughout. Not safe for concurrent use.
type Codec struct{ c coder }

// Seal encodes a draft.
func Seal(d *Draft) Record { return SealTo(nil, d) }

// SealTo encodes a draft, appending the payload to buf.
func SealTo(buf []byte, d *Draft) Record {
	var k Codec
	return k.SealTo(buf, d)
}

// SealTo encodes a draft, appending the payload to buf.
func (k *Codec) SealTo(buf []byte, d *Draft) Record {
	r := Record{Header: d.Header, Kind: d.Data.Kind(), Codec: CodecWire}
	if u, ok := d.Data.(*Unknown); ok {
		r.Version, r.Codec, r.Payload = u.Version, u.Codec, u.Raw
		return r
	}
	r.Version = kinds[r.Kind].version
	k.c.mode, k.c.out = modeEncode, buf
	d.Data.fields(&k.c)
	r.Payload, k.c.out = k.c.out, nil
	return r
}

// Open decodes the payload. A kind, codec or version that this binary does not
// know becomes an Unknown; bytes that cannot be read are ErrMalformed. The
// payload shares no memory with the record.
func (r *Record) Open() (Payload, error) {
	var k Codec
	return k.open(r)
}

// Open is Record.Open with the codec's memory.
func (k *Codec) Open(r *Record) (Payload, error) {
	if k.c.words == nil {
		k.c.words = map[string]string{}
	}
	return k.open(r)
}

func (k *Codec) open(r *Record) (Payload, error) {
	if !r.Kind.known() || r.Codec != CodecWire {
		return unknown(r), nil
	}
	return kinds[r.Kind].open(r, &k.c)
}

func unknown(r *Record) *Unknown {
	return &Unknown{Type: r.Kind, Version: r.Version, Codec: r.Codec, Raw: bytes.Clone(r.Payload)}
}

// open decodes a payload of this kind, in any version up to this binary's.
func (k *kindRow) open(r *Record, c *coder) (Payload, error) {
	var p Payload
	switch {
	case r.Version == k.version:
		p = k.make()
		p.fields(c.start(r.Payload))
	case r.Version > 0 && int(r.Version) <= len(k.older):
		old := k.older[r.Version-1]()
		old.fields(c.start(r.Payload))
		p = old.upcast()
	default:
		return unknown(r), nil
	}
	c.rest()
	err := c.err
	c.in, c.err = nil, nil
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", r.Kind, err)
	}
	return p, nil
}

// older is a version of a payload that is no longer written: the struct of
// then, which turns into the one of now. Its golden files stay for ever.
type older interface {
	fields(c *coder)
	upcast() Payload
}

// start makes the coder decode a payload from its beginning.
func (c *coder) start(payload []byte) *coder {
	c.mode, c.in, c.next, c.err = modeDecode, payload, 0, nil
	return c
}

// contentVersion opens the hashed content, so that its layout can change.
const contentVersion = 1

// ContentHash is SHA-256 over the envelope (without position, recorded time
// and hash) and the payload as stored, in a fixed, length-prefixed layout.
func (r *Record) ContentHash() Hash {
	var a [512]byte
	b := append(a[:0], contentVersion)
	b = append(b, r.ID[:]...)
	b = append(b, r.Writer[:]...)
	b = binary.BigEndian.AppendUint64(b, r.WriterSeq)
	b = binary.BigEndian.AppendUint64(b, uint64(r.ObservedAt))
	b = appendPrefixed(b, r.Account)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Epoch))
	b = appendPrefixed(b, r.Model)
	b = append(b, r.Request[:]...)
	b = binary.BigEndian.AppendUint32(b, r.Attempt)
	b = binary.BigEndian.AppendUint16(b, uint16(r.Kind))
	b = binary.BigEndian.AppendUint16(b, r.Version)
	b = append(b, r.Codec)
	b = binary.BigEndian.AppendUint64(b, uint64(len(r.Payload)))
	b = append(b, r.Payload...)
	return sha256.Sum256(b)
}

// Chain is SHA-256(0x01, previous hash, position, recorded_at, content hash).
func Chain(prev Hash, pos Position, recordedAt Time, content Hash) Hash {
	var b [1 + 32 + 8 + 8 + 32]byte
	b[0] = 1
	copy(b[1:], prev[:])
	binary.BigEndian.PutUint64(b[33:], uint64(pos))
	binary.BigEndian.PutUint64(b[41:], uint64(recordedAt))
	copy(b[49:], content[:])
	return sha256.Sum256(b[:])
}

func appendPrefixed(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

func uitoa(v uint64) string { return strconv.FormatUint(v, 10) }
