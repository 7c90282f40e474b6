package events

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// AppendJSON appends an event's canonical JSON: one line, fixed member order,
// absent members left out. `export` writes it, `import` rebuilds the identical
// Record from it, the API shows it. A payload that was stored with a codec or
// version unknown here is written as base64 under "raw".
func AppendJSON(b []byte, e *Event) []byte {
	c := coder{mode: modeToJSON, out: b}
	c.object(func(c *coder) { envelope(c, e) })
	return c.out
}

// MarshalJSON is AppendJSON.
func (e *Event) MarshalJSON() ([]byte, error) { return AppendJSON(nil, e), nil }

func envelope(c *coder, e *Event) {
	r := Seal(&Draft{Header: e.Header, Data: e.Data})
	kind, version := r.Kind.String(), uint64(r.Version)
	c.position(1, "position", &e.Position)
	c.uuid("id", &e.ID)
	c.string(1, "type", &kind)
	c.uint64(1, "version", &version)
	c.uuid("writer", &e.Writer)
	c.uint64(1, "writer_seq", &e.WriterSeq)
	c.time(1, "observed_at", &e.ObservedAt)
	c.time(1, "recorded_at", &e.RecordedAt)
	c.string(1, "account", &e.Account)
	epoch := e.Epoch.String()
	c.string(1, "epoch", &epoch)
	c.string(1, "model", &e.Model)
	c.uuid("request", &e.Request)
	c.uint32(1, "attempt", &e.Attempt)
	if u, ok := e.Data.(*Unknown); ok {
		codec := uint64(u.Codec)
		c.uint64(1, "codec", &codec)
		c.raw(1, "raw", &u.Raw)
	} else {
		c.member("data")
		c.object(e.Data.fields)
	}
	hash := e.Hash.String()
	c.string(1, "hash", &hash)
}

func (c *coder) uuid(name string, id *uuid.UUID) {
	if *id == uuid.Nil {
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
	ObservedAt Time            `json:"observed_at"`
	RecordedAt Time            `json:"recorded_at"`
	Account    string          `json:"account"`
	Epoch      string          `json:"epoch"`
	Model      string          `json:"model"`
	Request    uuid.UUID       `json:"request"`
	Attempt    uint32          `json:"attempt"`
	Codec      byte            `json:"codec"`
	Raw        []byte          `json:"raw"`
	Data       json.RawMessage `json:"data"`
	Hash       string          `json:"hash"`
}

// ParseJSON reads an event back from its canonical JSON.
func ParseJSON(line []byte) (Event, error) {
	var w wireEvent
	if err := json.Unmarshal(line, &w); err != nil {
		return Event{}, fmt.Errorf("read event: %w", err)
	}
	e := Event{
		Header: Header{ID: w.ID, Writer: w.Writer, WriterSeq: w.WriterSeq, ObservedAt: w.ObservedAt,
			Account: w.Account, Model: w.Model, Request: w.Request, Attempt: w.Attempt},
		Position: w.Position, RecordedAt: w.RecordedAt,
	}
	if err := parseHex("hash", w.Hash, e.Hash[:]); err != nil {
		return Event{}, err
	}
	if w.Epoch != "" {
		n, err := strconv.ParseUint(w.Epoch, 16, 64)
		if err != nil {
			return Event{}, fmt.Errorf("read event: epoch %q: %w", w.Epoch, err)
		}
		e.Epoch = Epoch(n)
	}
	var err error
	e.Data, err = parseData(&w)
	return e, err
}

// ParseData reads a payload of a known kind from the JSON of its "data" member.
func ParseData(k Kind, data []byte) (Payload, error) {
	if !k.known() {
		return nil, fmt.Errorf("read event: unknown type %s", k)
	}
	p := kinds[k].make()
	c := coder{mode: modeFromJSON}
	c.parse("data", data, p.fields)
	if c.err != nil {
		return nil, fmt.Errorf("read %s: %w", k, c.err)
	}
	return p, nil
}

func parseData(w *wireEvent) (Payload, error) {
	k, ok := ParseKind(w.Type)
	if ok && w.Data != nil {
		return ParseData(k, w.Data)
	}
	if !ok {
		if _, err := fmt.Sscanf(w.Type, "type:%d", &k); err != nil {
			return nil, fmt.Errorf("read event: unknown type %q", w.Type)
		}
	}
	return &Unknown{Type: k, Version: w.Version, Codec: w.Codec, Raw: w.Raw}, nil
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
