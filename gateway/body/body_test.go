package body

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const mib = 1 << 20

func pack(t testing.TB, coding string, p []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, _ = flate.NewWriter(&b, 5)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	}
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func limits(t testing.TB) Limits { return Limits{Max: 4 * mib, Memory: 1000, Dir: t.TempDir()} }

func content(t *testing.T, r io.Reader) string {
	t.Helper()
	p, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(p)
}

func Test_B031_compressed_bodies_are_decoded_and_replayed_plain(t *testing.T) {
	for _, size := range []int{20, 999, 1000, 1001, 300_000} {
		text := `{"model":"m1","x":"` + strings.Repeat("é漢 ", size/6) + `"}`
		p := []byte(text)
		for name, c := range map[string]struct {
			encoding string
			body     []byte
		}{
			"none":                      {"", p},
			"identity":                  {"identity", p},
			"gzip":                      {"gzip", pack(t, "gzip", p)},
			"x-gzip":                    {"X-GZIP", pack(t, "gzip", p)},
			"zstd":                      {"zstd", pack(t, "zstd", p)},
			"br":                        {"br", pack(t, "br", p)},
			"deflate_is_zlib":           {"deflate", pack(t, "deflate", p)},
			"deflate_is_raw":            {"deflate", pack(t, "raw", p)},
			"gzip_then_zstd":            {"gzip, zstd", pack(t, "zstd", pack(t, "gzip", p))},
			"zstd_magic_without_header": {"", pack(t, "zstd", p)},
			"gzip_magic_without_header": {"", pack(t, "gzip", p)},
		} {
			t.Run(name, func(t *testing.T) {
				var sink bytes.Buffer
				b, err := Read(iotest.OneByteReader(bytes.NewReader(c.body)), c.encoding, limits(t), &sink)
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				if sink.String() != text {
					t.Error("the sink got other bytes")
				}
				for range 2 { // the second attempt gets the same
					if content(t, b.Open()) != text || b.Len() != int64(len(text)) {
						t.Error("replayed other bytes")
					}
				}
			})
		}
	}
}

func Test_B031_bodies_that_cannot_be_decoded_are_refused(t *testing.T) {
	good := pack(t, "zstd", []byte(`{"model":"m1"}`))
	for name, c := range map[string]struct {
		encoding string
		body     []byte
		want     error
	}{
		"unknown_coding":    {"x-foo", good, ErrCoding},
		"unknown_in_a_list": {"gzip, x-foo", good, ErrCoding},
		"too_many_layers":   {"gzip, gzip, gzip, gzip", good, ErrCoding},
		"truncated_zstd":    {"zstd", good[:len(good)-3], ErrCorrupt},
		"truncated_gzip":    {"gzip", pack(t, "gzip", good)[:20], ErrCorrupt},
		"truncated_deflate": {"deflate", pack(t, "deflate", good)[:20], ErrCorrupt},
		"truncated_br":      {"br", pack(t, "br", bytes.Repeat(good, 99))[:20], ErrCorrupt},
		"other_coding":      {"gzip", good, ErrCorrupt},
		"nothing_as_gzip":   {"gzip", nil, ErrCorrupt},
		"nothing_as_zstd":   {"zstd", nil, ErrCorrupt},
		"nothing_as_br":     {"br", nil, ErrCorrupt},
		"plain_as_gzip":     {"gzip", []byte(`{"model":"m1"}`), ErrCorrupt},
		"plain_as_br":       {"br", []byte(`{"model":"m1"}`), ErrCorrupt},
		"flipped_gzip":      {"gzip", flip(pack(t, "gzip", bytes.Repeat(good, 9)), 40), ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(bytes.NewReader(c.body), c.encoding, limits(t), io.Discard); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func flip(p []byte, i int) []byte {
	p[i] ^= 0x55
	return p
}

// zeros gives zeros for ever.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func Test_B031_a_bomb_is_refused_in_bounded_memory(t *testing.T) {
	for _, coding := range []string{"gzip", "deflate", "zstd", "br"} {
		t.Run(coding, func(t *testing.T) {
			bomb := pack(t, coding, make([]byte, 16*mib))
			var n counter
			if _, err := Read(bytes.NewReader(bomb), coding, limits(t), &n); !errors.Is(err, ErrTooLarge) {
				t.Errorf("got %v", err)
			}
			if n > 4*mib {
				t.Errorf("%d bytes were decoded", n)
			}
		})
	}
	t.Run("inside_a_bomb", func(t *testing.T) {
		// Two layers: the outer one alone is far over the limit.
		bomb := pack(t, "zstd", bytes.Repeat(pack(t, "gzip", nil), 300_000))
		if _, err := Read(bytes.NewReader(bomb), "gzip, zstd", limits(t), io.Discard); !errors.Is(err, ErrTooLarge) {
			t.Errorf("got %v", err)
		}
	})
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func Test_B091_the_limit_holds_for_a_body_of_unknown_length(t *testing.T) {
	l := limits(t)
	var n counter
	if _, err := Read(zeros{}, "", l, &n); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("an endless body: %v", err)
	}
	if n > counter(l.Max) {
		t.Errorf("%d bytes were taken of at most %d", n, l.Max)
	}
	whole := bytes.Repeat([]byte("x"), int(l.Max))
	b, err := Read(bytes.NewReader(whole), "", l, io.Discard)
	if err != nil || b.Len() != l.Max {
		t.Fatalf("a body of exactly the limit: %v", err)
	}
	_ = b.Close()
	if _, err := Read(io.MultiReader(bytes.NewReader(whole), strings.NewReader("x")), "", l, io.Discard); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestAClientThatLeavesIsNotACorruptBody(t *testing.T) {
	left := errors.New("client left")
	for _, encoding := range []string{"", "gzip", "zstd", "br", "deflate"} {
		part := []byte(`{"mod`)
		if encoding != "" {
			part = pack(t, encoding, bytes.Repeat([]byte("x1y2z3"), 999))[:12]
		}
		r := io.MultiReader(bytes.NewReader(part), iotest.ErrReader(left))
		if _, err := Read(r, encoding, limits(t), io.Discard); !errors.Is(err, left) {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}

func TestNothingOfASpooledBodyIsLeftOnTheDisk(t *testing.T) {
	l := limits(t)
	b, err := Read(strings.NewReader(strings.Repeat("secret", 9999)), "", l, io.Discard)
	if err != nil || b.file == nil {
		t.Fatalf("not spooled: %v", err)
	}
	if names, _ := os.ReadDir(l.Dir); len(names) != 0 {
		t.Errorf("files with names while it is open: %v", names)
	}
	r := b.Open()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err == nil {
		t.Error("a reader went on after the body was closed")
	}
}

func Test_B131_a_spooled_body_keeps_little_memory(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	for name, expect := range map[string]int64{"stated": mib, "unknown": -1, "understated": 10} {
		t.Run(name, func(t *testing.T) {
			l := Limits{Max: 4 * mib, Memory: 200_000, Expect: expect, Dir: t.TempDir()}
			largest := 0
			b, err := Read(bytes.NewReader(text), "", l, watcher{&largest})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if b.file == nil || cap(b.mem) > 0 || content(t, b.Open()) != string(text) {
				t.Errorf("file %v, %d bytes in memory", b.file, cap(b.mem))
			}
			if name == "stated" && largest > maxFirstRead {
				t.Errorf("a body that is known to be large was read into %d bytes of memory", largest)
			}
		})
	}
}

// watcher notes the largest piece.
type watcher struct{ largest *int }

func (w watcher) Write(p []byte) (int, error) {
	*w.largest = max(*w.largest, len(p))
	return len(p), nil
}

func TestTheSinkEndsTheReading(t *testing.T) {
	stop := errors.New("not JSON")
	if _, err := Read(zeros{}, "", limits(t), failing{stop}); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestEditsReplaceTheirRangesAndNothingElse(t *testing.T) {
	text := strings.Repeat("0123456789", 500)
	edits := []Edit{{0, 1, []byte("A")}, {5, 5, []byte("insert")}, {1990, 2010, nil}, {4999, 5000, []byte("the end")}}
	want := "A1234insert" + text[5:1990] + text[2010:4999] + "the end"
	for _, memory := range []int64{10, mib} {
		b, err := Read(strings.NewReader(text), "", Limits{Max: mib, Memory: memory, Dir: t.TempDir()}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		r := b.Open(edits...)
		if got := content(t, iotest.OneByteReader(r)); got != want || b.Len(edits...) != int64(len(want)) {
			t.Errorf("memory %d: got %d bytes, Len %d, want %d", memory, len(got), b.Len(edits...), len(want))
		}
		for range 20 {
			at := rand.Int64N(int64(len(want)))
			if _, err := r.Seek(at, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			if got := content(t, r); got != want[at:] {
				t.Errorf("from %d on: %.20q, want %.20q", at, got, want[at:])
			}
		}
		_ = b.Close()
	}
}

func TestATeeShowsWhatWasFlushedAtOnce(t *testing.T) {
	type flusher interface {
		io.WriteCloser
		Flush() error
	}
	for coding, make := range map[string]func(w io.Writer) flusher{
		"gzip":    func(w io.Writer) flusher { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) flusher { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) flusher { return brotli.NewWriter(w) },
		"zstd":    func(w io.Writer) flusher { z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); return z },
	} {
		t.Run(coding, func(t *testing.T) {
			var raw, got bytes.Buffer
			w := make(&raw)
			tee, err := NewTee(coding, func(p []byte) { got.Write(p) })
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			for i := range 50 {
				event := strings.Repeat("data: {}\n\n", 1+i)
				want += event
				_, _ = w.Write([]byte(event))
				_ = w.Flush()
				for raw.Len() > 0 { // in pieces of any size
					if _, err := tee.Write(raw.Next(1 + i%7)); err != nil {
						t.Fatal(err)
					}
				}
				if got.String() != want {
					t.Fatalf("after event %d the sink has %d bytes of %d", i, got.Len(), len(want))
				}
			}
			_ = w.Close()
			if _, err := tee.Write(raw.Bytes()); err != nil {
				t.Fatal(err)
			}
			if err := tee.Close(); err != nil || got.String() != want {
				t.Errorf("close: %v, %d bytes of %d", err, got.Len(), len(want))
			}
		})
	}
}

func TestATeeTellsACutStreamFromAWholeOne(t *testing.T) {
	for _, coding := range []string{"gzip", "deflate", "br", "zstd", "gzip, br"} {
		p := bytes.Repeat([]byte("0123456789abcdef"), 99)
		for name := range strings.SplitSeq(coding, ", ") {
			p = pack(t, name, p)
		}
		for cut, want := range map[int]error{0: nil, 1: ErrCorrupt, len(p) / 2: ErrCorrupt, len(p): ErrCorrupt} {
			tee, err := NewTee(coding, func([]byte) {})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = tee.Write(p[:len(p)-cut])
			if err := tee.Close(); !errors.Is(err, want) {
				t.Errorf("%s cut by %d: %v, want %v", coding, cut, err, want)
			}
		}
	}
	if _, err := NewTee("x-foo", nil); !errors.Is(err, ErrCoding) {
		t.Errorf("unknown coding: %v", err)
	}
	tee, _ := NewTee("gzip", func([]byte) { t.Error("garbage was decoded") })
	if _, err := tee.Write([]byte("not gzip at all")); !errors.Is(err, ErrCorrupt) {
		t.Errorf("garbage: %v", err)
	}
	if _, err := tee.Write([]byte("more")); err != nil {
		t.Errorf("told twice: %v", err)
	}
	_ = tee.Close()
}

func FuzzDecode(f *testing.F) {
	for _, coding := range []string{"gzip", "deflate", "raw", "br", "zstd"} {
		p := pack(f, coding, []byte(`{"model":"m1","messages":[]}`))
		f.Add(p, strings.Replace(coding, "raw", "deflate", 1), 3)
	}
	f.Add([]byte("{}"), "", 1)
	// A tee and a reader agree on every input.
	f.Fuzz(func(t *testing.T, p []byte, coding string, step int) {
		var plain, shown bytes.Buffer
		b, err := Read(bytes.NewReader(p), coding, Limits{Max: mib, Memory: 64, Dir: t.TempDir()}, &plain)
		if err == nil {
			defer b.Close()
		}
		tee, teeErr := NewTee(coding, func(p []byte) { shown.Write(p) })
		if errors.Is(err, ErrCoding) || errors.Is(err, ErrTooLarge) || teeErr != nil {
			return
		}
		if names, _ := layers(coding); len(names) == 0 {
			_ = tee.Close()
			return // the reader sniffs, the tee does not
		}
		step = max(1, step)
		for rest := p; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			_, _ = tee.Write(rest[:min(step, len(rest))])
		}
		if closed := tee.Close(); (closed == nil) != (err == nil) {
			t.Errorf("reader says %v, tee %v", err, closed)
		}
		if err == nil && !bytes.Equal(plain.Bytes(), shown.Bytes()) {
			t.Errorf("reader has %q, tee %q", plain.Bytes(), shown.Bytes())
		}
	})
}

func BenchmarkRead(b *testing.B) {
	p := bytes.Repeat([]byte("x"), 1024)
	r := bytes.NewReader(p)
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(p)
		body, err := Read(r, "", Limits{Max: mib, Expect: 1024}, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		_ = body.Close()
	}
}
