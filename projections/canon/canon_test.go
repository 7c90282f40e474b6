package canon

import (
	"bytes"
	"errors"
	"reflect"
	"sync"
	"testing"
)

type sample struct {
	Small  uint8
	Big    uint64
	Signed int64
	Flag   bool
	Name   string
	ID     [4]byte
	List   []string
}

func (s *sample) state(c *Coder) {
	Uint(c, &s.Small)
	Uint(c, &s.Big)
	Int(c, &s.Signed)
	c.Bool(&s.Flag)
	c.String(&s.Name)
	c.Fixed(s.ID[:])
	Slice(c, &s.List, (*Coder).String)
}

func full() sample {
	return sample{Small: 200, Big: 1 << 63, Signed: -1 << 62, Flag: true, Name: "käse", ID: [4]byte{1, 2, 3, 4}, List: []string{"", "x"}}
}

func TestAStateReadsBackAsWritten(t *testing.T) {
	for _, want := range []sample{{}, full()} {
		w := Writer([]byte("kept"))
		want.state(w)
		b := bytes.TrimPrefix(w.Bytes(), []byte("kept"))
		var got sample
		r := Reader(b)
		got.state(r)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	}
}

func TestEveryCutOfAStateIsRefused(t *testing.T) {
	s := full()
	w := Writer(nil)
	s.state(w)
	for n := range w.Bytes() {
		var got sample
		r := Reader(w.Bytes()[:n])
		got.state(r)
		if err := r.Close(); !errors.Is(err, ErrMalformed) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	var got sample
	r := Reader(append(w.Bytes(), 0))
	got.state(r)
	if err := r.Close(); !errors.Is(err, ErrMalformed) {
		t.Fatalf("a byte too many: %v", err)
	}
}

func FuzzReadingNeverPanicsOrGrows(f *testing.F) {
	s := full()
	w := Writer(nil)
	s.state(w)
	f.Add(w.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		var got sample
		r := Reader(b)
		got.state(r)
		if r.Close() == nil && len(got.List) > len(b) {
			t.Fatal("a list longer than its input")
		}
	})
}

// TestWritingTouchesNothing: views share what they fold, and one of them may
// write its state while another reads. The race detector is the judge.
func TestWritingTouchesNothing(t *testing.T) {
	number, signed, yes, name, list := uint32(7), int64(-7), true, "seven", []uint64{7, 8}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			c := Writer(nil)
			Uint(c, &number)
			Int(c, &signed)
			c.Bool(&yes)
			c.String(&name)
			Numbers(c, &list)
			Slice(c, &list, func(c *Coder, p *uint64) { Uint(c, p) })
		})
	}
	both.Wait()
}
