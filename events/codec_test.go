package events

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// header is a random envelope.
func (f *filler) header() Header {
	var h Header
	for _, id := range []*uuid.UUID{&h.ID, &h.Writer, &h.Request} {
		for i := range id {
			id[i] = byte(f.rng.Uint32())
		}
	}
	h.WriterSeq, h.ObservedAt, h.Epoch, h.Attempt = f.rng.Uint64(), Time(f.integer()), Epoch(f.rng.Uint64()), f.rng.Uint32()
	h.Account, h.Model = f.text(), f.text()
	return h
}

func TestEveryPayloadSurvivesStorageAndJSON(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := &filler{rng: rand.New(rand.NewPCG(seed, 0))}
	var k Codec
	for _, kind := range Kinds() {
		for range 300 {
			d := Draft{Header: f.header(), Data: f.payload(kind)}
			r := k.SealTo(nil, &d)
			roundTrip(t, &k, &d, &r)
			if t.Failed() {
				t.Fatalf("%s: %+v", kind, d.Data)
			}
		}
	}
}

func roundTrip(t *testing.T, k *Codec, d *Draft, r *Record) {
	t.Helper()
	got, err := k.Open(r)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	want := canonical(d.Data)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("stored form:\n got %+v\nwant %+v", got, want)
	}
	e := Event{Header: d.Header, Position: 7, RecordedAt: 5, Hash: Hash{1}, Data: want}
	line := AppendJSON(nil, &e)
	if !json.Valid(line) {
		t.Fatalf("not JSON: %s", line)
	}
	back, err := ParseJSON(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if !reflect.DeepEqual(back, e) {
		t.Errorf("JSON %s:\n got %+v\nwant %+v", line, back, e)
	}
	sameRecord(t, r)
}

// sameRecord: export and import give the identical record, and the identical
// line again.
func sameRecord(t *testing.T, r *Record) {
	t.Helper()
	line := AppendRecordJSON(nil, r, 9, 8, Hash{7})
	got, p, at, h, err := ParseRecordJSON(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if p != 9 || at != 8 || h != (Hash{7}) || got.Header != r.Header || got.Kind != r.Kind || got.Version != r.Version ||
		got.Codec != r.Codec || !bytes.Equal(got.Payload, r.Payload) {
		t.Errorf("%s:\n got %+v\nwant %+v", line, got, *r)
	}
	if again := AppendRecordJSON(nil, &got, p, at, h); !bytes.Equal(again, line) {
		t.Errorf("another line:\n%s\n%s", again, line)
	}
}

// canonical is a payload as storage gives it back: what is empty is absent.
func canonical(p Payload) Payload {
	normal(reflect.ValueOf(p).Elem())
	return p
}

func normal(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if s, ok := v.Addr().Interface().(*Scope); ok && s.Kind == ScopeUnset {
			s.Name = ""
		}
		for i := range v.NumField() {
			normal(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			normal(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			normal(v.Index(i))
		}
	}
}

func TestNonUTF8SurvivesJSON(t *testing.T) {
	for _, s := range []string{"\xff", "a\xc3(b", "\xed\xb2\x80", "\xf0\x9f\x98", "\x80\x80", "ok", "\U0001f600\xff\U0001f600", `\udc80`, "\"\\\n\u2028"} {
		line := appendJSONString(nil, s)
		if !json.Valid(line) {
			t.Fatalf("%q gives %s", s, line)
		}
		var got text
		if err := json.Unmarshal(line, &got); err != nil || string(got) != s {
			t.Errorf("%q by way of %s: %q, %v", s, line, got, err)
		}
	}
	for in, want := range map[string]string{
		`"\ud83d\ude00\udcff"`: "\U0001f600\xff", `"\ud83dx\udcff"`: "\ufffdx\xff", `"\b\f\n\r\t\/\"\\\udc80"`: "\b\f\n\r\t/\"\\\x80",
		`"\\udc80"`: `\udc80`, `"\udcff\u00e9é"`: "\xfféé",
	} {
		var got text
		if err := json.Unmarshal([]byte(in), &got); err != nil || string(got) != want {
			t.Errorf("%s: %q, want %q, %v", in, got, want, err)
		}
	}
}

func TestWhatThisBinaryDoesNotKnowIsKept(t *testing.T) {
	known := Seal(sample())
	for name, r := range map[string]Record{
		"a newer kind":    {Header: known.Header, Kind: 4711, Version: 3, Codec: 1, Payload: []byte{1, 2, 3}},
		"a newer version": {Header: known.Header, Kind: known.Kind, Version: 99, Codec: 1, Payload: []byte("x")},
		"a newer codec":   {Header: known.Header, Kind: known.Kind, Version: 1, Codec: 77, Payload: nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := r.Open()
			if err != nil {
				t.Fatal(err)
			}
			u, ok := p.(*Unknown)
			if !ok {
				t.Fatalf("got %T", p)
			}
			again := Seal(&Draft{Header: r.Header, Data: u})
			if again.Kind != r.Kind || again.Version != r.Version || again.Codec != r.Codec || !bytes.Equal(again.Payload, r.Payload) {
				t.Errorf("got %+v", again)
			}
			sameRecord(t, &r)
			e := Event{Header: r.Header, Data: u}
			if back, err := ParseJSON(AppendJSON(nil, &e)); err != nil || !bytes.Equal(back.Data.(*Unknown).Raw, r.Payload) {
				t.Errorf("%+v %v", back, err)
			}
		})
	}
}

func TestAFutureTagIsSkippedAndNotLost(t *testing.T) {
	r := Seal(sample())
	want, _ := r.Open()
	r.Payload = append(r.Payload, 0xfa, 0x07, 3, 'n', 'e', 'w') // tag 127, bytes
	r.Payload = append(r.Payload, 0x80, 0x08, 42)               // tag 128, number
	got, err := r.Open()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v %v", got, err)
	}
	sameRecord(t, &r)
}

func TestAnOlderVersionIsUpcast(t *testing.T) {
	row := kindRow{name: "account.retired", version: 3, make: kinds[KindAccountRetired].make,
		older: []func() older{func() older { return new(retiredV1) }, func() older { return new(retiredV2) }}}
	for version, payload := range map[uint16][]byte{1: {0x08, 2}, 2: {0x12, 3, 'a', 'b', 'c'}, 3: {0x0a, 3, 'a', 'b', 'c'}} {
		p, err := row.open(&Record{Kind: KindAccountRetired, Version: version, Codec: CodecWire, Payload: payload}, new(coder))
		if err != nil || p.(*AccountRetired).Cause != "abc" {
			t.Errorf("version %d: %+v %v", version, p, err)
		}
	}
	if _, err := row.open(&Record{Version: 1, Payload: []byte{0x0a}}, new(coder)); err == nil {
		t.Error("a malformed old payload was read")
	}
}

type retiredV1 struct{ code uint32 }

func (p *retiredV1) fields(c *coder) { c.uint32(1, "code", &p.code) }
func (p *retiredV1) upcast() Payload { return &AccountRetired{Cause: []string{"", "", "abc"}[p.code]} }

type retiredV2 struct{ why string }

func (p *retiredV2) fields(c *coder) { c.string(2, "why", &p.why) }
func (p *retiredV2) upcast() Payload { return &AccountRetired{Cause: p.why} }

func TestAPayloadSharesNoMemoryWithItsRecord(t *testing.T) {
	for _, r := range []Record{Seal(sample()), {Kind: 999, Payload: []byte("unknown")}} {
		p, _ := r.Open()
		before := AppendJSON(nil, &Event{Data: p})
		for i := range r.Payload {
			r.Payload[i] = 0xff
		}
		if after := AppendJSON(nil, &Event{Data: p}); !bytes.Equal(before, after) {
			t.Errorf("%s became %s", before, after)
		}
	}
}

func TestEncodingWritesNothingIntoThePayload(t *testing.T) { // the race detector judges
	f := &filler{rng: rand.New(rand.NewPCG(5, 6)), full: true}
	for _, kind := range Kinds() {
		p := f.payload(kind)
		want := Seal(&Draft{Data: p})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if got := Seal(&Draft{Data: p}); !bytes.Equal(got.Payload, want.Payload) {
					t.Errorf("%s is encoded in two ways", kind)
				}
				AppendJSON(nil, &Event{Data: p})
			})
		}
		wg.Wait()
	}
}

func TestAContentHashCoversEveryMember(t *testing.T) {
	base := Seal(sample())
	seen := map[Hash]string{base.ContentHash(): "itself"}
	for name, change := range map[string]func(*Record){
		"id": func(r *Record) { r.ID[0]++ }, "writer": func(r *Record) { r.Writer[0]++ }, "writer_seq": func(r *Record) { r.WriterSeq++ },
		"observed_at": func(r *Record) { r.ObservedAt++ }, "account": func(r *Record) { r.Account += "m" },
		"account and model": func(r *Record) { r.Account, r.Model = r.Account+r.Model[:1], r.Model[1:] },
		"epoch":             func(r *Record) { r.Epoch++ }, "model": func(r *Record) { r.Model = "" }, "request": func(r *Record) { r.Request[0]++ },
		"attempt": func(r *Record) { r.Attempt++ }, "kind": func(r *Record) { r.Kind++ }, "version": func(r *Record) { r.Version++ },
		"codec": func(r *Record) { r.Codec++ }, "payload": func(r *Record) { r.Payload = r.Payload[1:] },
	} {
		r := base
		change(&r)
		if other, ok := seen[r.ContentHash()]; ok {
			t.Errorf("another %s has the hash of %s", name, other)
		}
		seen[r.ContentHash()] = name
	}
}

// FuzzOpen: no bytes panic or hang the decoder, and what it reads it writes
// back in one canonical form that it reads alike.
func FuzzOpen(f *testing.F) {
	fill := &filler{rng: rand.New(rand.NewPCG(1, 2))}
	for _, k := range Kinds() {
		r := Seal(&Draft{Data: fill.payload(k)})
		f.Add(uint16(k), r.Payload)
	}
	f.Add(uint16(KindQuotaFetched), bytes.Repeat([]byte{0x1a, 0}, 1000))
	f.Fuzz(func(t *testing.T, kind uint16, payload []byte) {
		r := Record{Kind: Kind(kind % uint16(len(kinds)+2)), Version: 1, Codec: CodecWire, Payload: payload}
		p, err := r.Open()
		if err != nil {
			sameRecord(t, &r)
			return
		}
		one := Seal(&Draft{Data: p})
		if one.Version != r.Version {
			return
		}
		q, err := one.Open()
		if err != nil {
			t.Fatalf("own bytes are malformed: %v", err)
		}
		if two := Seal(&Draft{Data: q}); !bytes.Equal(one.Payload, two.Payload) {
			t.Fatalf("not canonical:\n% x\n% x", one.Payload, two.Payload)
		}
		sameRecord(t, &r)
		sameRecord(t, &one)
	})
}

// FuzzParseJSON: no line panics the reader, and what it reads it writes back
// in one canonical form.
func FuzzParseJSON(f *testing.F) {
	fill := &filler{rng: rand.New(rand.NewPCG(3, 4))}
	for _, k := range Kinds() {
		f.Add(AppendJSON(nil, &Event{Header: fill.header(), Position: 1, Data: fill.payload(k)}))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := ParseJSON(line)
		if err != nil {
			return
		}
		one := AppendJSON(nil, &e)
		back, err := ParseJSON(one)
		if err != nil {
			t.Fatalf("own line %s: %v", one, err)
		}
		if two := AppendJSON(nil, &back); !bytes.Equal(one, two) {
			t.Fatalf("not canonical:\n%s\n%s", one, two)
		}
		_, _, _, _, _ = ParseRecordJSON(line)
	})
}
