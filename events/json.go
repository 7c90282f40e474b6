package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// AppendJSON appends an event's canonical JSON: one line, fixed member order,
// absent members left out. A payload of a type, codec or version unknown here
// is written as base64 under "raw".
func AppendJSON(b []byte, e *Event) []byte {
	r := Record{Header: e.Header, Kind: e.Data.Kind(), Codec: CodecWire}
	if u, ok := e.Data.(*Unknown); ok {
		r.Version, r.Codec, r.Payload = u.Version, u.Codec, u.Raw
		return appendLine(b, &r, e.Position, e.RecordedAt, e.Hash, nil, true)
	}
	r.Version = kinds[r.Kind].version
	return appendLine(b, &r, e.Position, e.RecordedAt, e.Hash, e.Data, false)
}

// MarshalJSON is AppendJSON.
func (e *Event) MarshalJSON() ([]byte, error) { return AppendJSON(nil, e), nil }

// AppendRecordJSON is AppendJSON for a stored record, and loses nothing: where
// the decoded payload would not give the stored bytes again (a newer binary's
// fields, an older version, damage), "raw" holds them beside it.
func AppendRecordJSON(b []byte, r *Record, p Position, at Time, h Hash) []byte {
	data, err := r.Open()
	if _, ok := data.(*Unknown); ok || err != nil {
		return appendLine(b, r, p, at, h, nil, true)
	}
	again := Seal(&Draft{Data: data})
	exact := again.Version == r.Version && bytes.Equal(again.Payload, r.Payload)
	return appendLine(b, r, p, at, h, data, !exact)
}

func appendLine(b []byte, r *Record, p Position, at Time, h Hash, data Payload, raw bool) []byte {
	c := &coder{mode: modeToJSON, out: append(b, '{')}
	kind, version, epoch, hash := r.Kind.String(), uint64(r.Version), r.Epoch.String(), h.String()
	c.position(1, "position", &p)
	c.uuid("id", r.ID)
	c.string(1, "type", &kind)
	c.uint64(1, "version", &version)
	c.uuid("writer", r.Writer)
	c.uint64(1, "writer_seq", &r.WriterSeq)
	c.time(1, "observed_at", &r.ObservedAt)
	c.time(1, "recorded_at", &at)
	c.string(1, "account", &r.Account)
	c.string(1, "epoch", &epoch)
	c.string(1, "model", &r.Model)
	c.uuid("request", r.Request)
	c.uint32(1, "attempt", &r.Attempt)
	if data != nil {
		c.member("data")
		c.out, c.sep = append(c.out, '{'), false
		data.fields(c)
		c.out, c.sep = append(c.out, '}'), true
	}
	if raw {
		codec := uint64(r.Codec)
		c.uint64(1, "codec", &codec)
		c.member("raw")
		c.base64(r.Payload)
	}
	c.string(1, "hash", &hash)
	return append(c.out, '}')
}

func (c *coder) uuid(name string, id uuid.UUID) {
	if id == uuid.Nil {
		return
	}
	c.member(name)
	c.out = append(c.out, '"')
	c.out = append(c.out, id.String()...)
	c.out = append(c.out, '"')
}

// wireEvent is the envelope as read back from canonical JSON.
type wireEvent struct {
	Position   Position        `json:"position"`
	ID         uuid.UUID       `json:"id"`
	Type       string          `json:"type"`
	Version    uint16          `json:"version"`
	Writer     uuid.UUID       `json:"writer"`
	WriterSeq  uint64          `json:"writer_seq"`
	ObservedAt instant         `json:"observed_at"`
	RecordedAt instant         `json:"recorded_at"`
	Account    text            `json:"account"`
	Epoch      string          `json:"epoch"`
	Model      text            `json:"model"`
	Request    uuid.UUID       `json:"request"`
	Attempt    uint32          `json:"attempt"`
	Data       json.RawMessage `json:"data"`
	Codec      byte            `json:"codec"`
	Raw        *[]byte         `json:"raw"`
	Hash       string          `json:"hash"`

	kind  Kind
	epoch Epoch
	hash  Hash
}

// ParseJSON reads an event back from its canonical JSON.
func ParseJSON(line []byte) (Event, error) {
	w, err := parseLine(line)
	if err != nil {
		return Event{}, err
	}
	e := Event{Header: w.header(), Position: w.Position, RecordedAt: Time(w.RecordedAt), Hash: w.hash}
	if w.Data != nil {
		e.Data, err = parseData(w.kind, w.Data)
		return e, err
	}
	e.Data = &Unknown{Type: w.kind, Version: w.Version, Codec: w.Codec, Raw: *w.Raw}
	return e, nil
}

// ParseRecordJSON rebuilds the record that AppendRecordJSON wrote, byte for
// byte, and its place.
func ParseRecordJSON(line []byte) (r Record, p Position, at Time, h Hash, err error) {
	w, err := parseLine(line)
	if err != nil {
		return r, 0, 0, h, err
	}
	r = Record{Header: w.header(), Kind: w.kind, Version: w.Version, Codec: w.Codec}
	if w.Raw != nil {
		r.Payload = *w.Raw
		return r, w.Position, Time(w.RecordedAt), w.hash, nil
	}
	data, err := parseData(w.kind, w.Data)
	if err != nil {
		return r, 0, 0, h, err
	}
	r = Seal(&Draft{Header: r.Header, Data: data})
	if r.Version != w.Version {
		return r, 0, 0, h, fmt.Errorf("read event %d: version %d of %s needs its stored bytes", w.Position, w.Version, w.kind)
	}
	return r, w.Position, Time(w.RecordedAt), w.hash, nil
}

// Canonical says whether a line is what AppendRecordJSON writes of the record
// that was read from it: no member beside those that it knows, none twice, in
// their order. Where the stored bytes stand in the line, data beside them is as
// whoever wrote it understood them.
func Canonical(line []byte, r *Record, p Position, at Time, h Hash) bool {
	if bytes.Equal(line, AppendRecordJSON(nil, r, p, at, h)) {
		return true
	}
	var w struct{ Data, Raw json.RawMessage }
	if json.Unmarshal(line, &w) != nil || w.Raw == nil {
		return false
	}
	bare := appendLine(nil, r, p, at, h, nil, true)
	if w.Data == nil {
		return bytes.Equal(line, bare)
	}
	i := max(bytes.LastIndex(bare, []byte(`,"codec":`)), 0)
	with := slices.Concat(bare[:i], []byte(`,"data":`), w.Data, bare[i:])
	return bytes.Equal(line, with)
}

func parseLine(line []byte) (*wireEvent, error) {
	w := new(wireEvent)
	if err := json.Unmarshal(line, w); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	if err := parseHex("hash", w.Hash, w.hash[:]); err != nil {
		return nil, err
	}
	if w.Epoch != "" {
		n, err := strconv.ParseUint(w.Epoch, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("read event: epoch %q: %w", w.Epoch, err)
		}
		w.epoch = Epoch(n)
	}
	var ok bool
	if w.kind, ok = parseAnyKind(w.Type); !ok {
		return nil, fmt.Errorf("read event: unknown type %q", w.Type)
	}
	if w.Data == nil && w.Raw == nil {
		return nil, fmt.Errorf("read event: neither data nor raw of %s", w.kind)
	}
	return w, nil
}

func (w *wireEvent) header() Header {
	return Header{ID: w.ID, Writer: w.Writer, WriterSeq: w.WriterSeq, ObservedAt: Time(w.ObservedAt), Account: string(w.Account),
		Epoch: w.epoch, Model: string(w.Model), Request: w.Request, Attempt: w.Attempt}
}

// parseAnyKind reads a kind's name, or "type:N" of one that is not known here.
func parseAnyKind(s string) (Kind, bool) {
	if k, ok := ParseKind(s); ok {
		return k, true
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "type:"), 10, 16)
	return Kind(n), err == nil && strings.HasPrefix(s, "type:")
}

// parseData reads a payload of a known kind from the JSON of its "data" member.
func parseData(k Kind, data []byte) (Payload, error) {
	if !k.known() {
		return nil, fmt.Errorf("read event: unknown type %s", k)
	}
	p := kinds[k].make()
	c := &coder{mode: modeFromJSON}
	c.read("data", data)
	p.fields(c)
	if c.err != nil {
		return nil, fmt.Errorf("read %s: %w", k, c.err)
	}
	return p, nil
}

func parseHex(name, s string, out []byte) error {
	if len(s) != 2*len(out) {
		return fmt.Errorf("read event: %s: want %d hex digits", name, 2*len(out))
	}
	for i := range out {
		n, err := strconv.ParseUint(s[2*i:2*i+2], 16, 8)
		if err != nil {
			return fmt.Errorf("read event: %s: %w", name, err)
		}
		out[i] = byte(n)
	}
	return nil
}
