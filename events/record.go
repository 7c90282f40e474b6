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

// Seal encodes a draft.
func Seal(d *Draft) Record { return SealTo(nil, d) }

// SealTo encodes a draft, appending the payload to buf.
func SealTo(buf []byte, d *Draft) Record {
	r := Record{Header: d.Header, Kind: d.Data.Kind(), Codec: CodecWire}
	if u, ok := d.Data.(*Unknown); ok {
		r.Version, r.Codec, r.Payload = u.Version, u.Codec, u.Raw
		return r
	}
	r.Version = kinds[r.Kind].version
	c := coder{mode: modeEncode, out: buf}
	d.Data.fields(&c)
	r.Payload = c.out
	return r
}

// Open decodes the payload. A kind, codec or version that this binary does not
// know becomes an Unknown; bytes that cannot be read are ErrMalformed.
func (r *Record) Open() (Payload, error) {
	if !r.Kind.known() || r.Codec != CodecWire || r.Version != kinds[r.Kind].version {
		return &Unknown{Type: r.Kind, Version: r.Version, Codec: r.Codec, Raw: bytes.Clone(r.Payload)}, nil
	}
	p := kinds[r.Kind].make()
	c := coder{mode: modeDecode, in: r.Payload}
	p.fields(&c)
	c.rest()
	if c.err != nil {
		return nil, fmt.Errorf("decode %s: %w", r.Kind, c.err)
	}
	return p, nil
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
