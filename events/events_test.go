package events

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
)

func sample() *Draft {
	return &Draft{
		Header: Header{ID: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), WriterSeq: 7, ObservedAt: 1_796_000_000_000_000,
			Account: "a", Epoch: 3, Model: "m1", Attempt: 1},
		Data: &AttemptRouted{
			Stamp:  Stamp{DecidedAt: 1_796_000_000_000_000, View: 12, Pending: 6, Rules: 1, Dialect: DialectOpenAI, Asked: "m1", Tried: []uint32{1, 300}, Waited: time.Second},
			Chosen: 2, Skipped: []Verdict{{Account: 1, Reason: ReasonWindowExhausted, Evidence: -4}},
			Trial: &Trial{Cells: []Cell{{AxisWindow, Scope{ScopeModel, "m1"}}}, Step: 1, Lease: 1_796_000_001_000_000},
		},
	}
}

func TestAnEventSurvivesStorageAndJSON(t *testing.T) {
	d := sample()
	r := Seal(d)
	got, err := r.Open()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, d.Data) {
		t.Fatalf("stored form:\n got %+v\nwant %+v", got, d.Data)
	}
	e := d.Pending()
	e.Position, e.RecordedAt = 9, e.ObservedAt
	line := AppendJSON(nil, &e)
	back, err := ParseJSON(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if !reflect.DeepEqual(back, e) {
		t.Fatalf("JSON %s:\n got %+v\nwant %+v", line, back, e)
	}
}

func BenchmarkCodecOpen(b *testing.B) {
	r := Seal(sample())
	var k Codec
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Open(&r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	r := Seal(sample())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Open(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	d := sample()
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		SealTo(buf[:0], d)
	}
}
