package sse

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waybill/waybill/gateway/dialect/sse/ssetest"
)

// log writes down what it is told; pieces are joined, so that it does not
// depend on where chunks end.
type log struct {
	events []ssetest.Event
	stray  []string
	data   []byte
}

func (l *log) Event(name, data []byte) {
	if data == nil && l.data != nil {
		data = l.data
	}
	l.data = l.data[:0:0]
	l.events = append(l.events, ssetest.Event{Name: string(name), Data: string(data)})
}
func (l *log) Piece(p []byte)    { l.data = append(l.data, p...) }
func (l *log) Stray(line []byte) { l.stray = append(l.stray, string(line)) }

// whatwg is what the dumb twin makes of the text, an unfinished last event
// counted as Finish counts it.
func whatwg(text []byte) *log {
	r := ssetest.Parse(string(text))
	if r.Rest != nil {
		r.Events = append(r.Events, *r.Rest)
	}
	return &log{events: r.Events, stray: r.Stray}
}

func splitUp(text []byte, next func(left int) int) (*log, *Scanner) {
	var s Scanner
	var l log
	for len(text) > 0 {
		n := next(len(text))
		chunk := bytes.Clone(text[:n])
		s.Feed(chunk, &l)
		for i := range chunk { // a chunk is given back: nothing may still lie in it
			chunk[i] = '#'
		}
		text = text[n:]
	}
	s.Finish(&l)
	return &l, &s
}

func agree(t *testing.T, text []byte) {
	t.Helper()
	want := fmt.Sprintf("%q", *whatwg(text))
	r := rand.New(rand.NewPCG(uint64(len(text)), 3))
	for name, next := range map[string]func(int) int{
		"whole":  func(left int) int { return left },
		"bytes":  func(int) int { return 1 },
		"random": func(left int) int { return 1 + r.IntN(min(left, 40_000)) },
	} {
		if name == "bytes" && len(text) > 4096 {
			continue
		}
		got, s := splitUp(text, next)
		if got := fmt.Sprintf("%q", *got); got != want {
			t.Fatalf("%s: got %.300s\nwant %.300s\nof %.300q", name, got, want, text)
		}
		if s.Safe() != int64(len(text)) {
			t.Fatalf("%s: safe %d of %d at the end", name, s.Safe(), len(text))
		}
	}
}

var seeds = []string{
	"data: {\"a\":1}\n\ndata: [DONE]\n\n", "event: x\ndata: 1\ndata: 2\n\n", "data:1\r\n\r\ndata: 2\r\rdata:  3\n\n",
	"\xef\xbb\xbfdata: 1\n\n", ": warming\n\n:\n\nevent: ping\ndata: {}\n\ndata:\n\n", "data\n\n", "id: 1\nretry: 5\n\n", "event: only\n\n",
	"data: 1", "data: 1\n", "\r", "\n", "\r\n", "\n\r", "x", "{\n  \"error\": {\"code\": 1}\n}\n", "data: \xf0\x9f\x98\x80\n\n", "event:x\nevent: y\ndata:z\n\n", "data: a\n\r\ndata: b\r\n\n\n",
	"data: " + strings.Repeat("x", HoldLine-6) + "\n\n", "data: 1\ndata: " + strings.Repeat("y", HoldLine+9) + "\ndata: 2\n\n", ": " + strings.Repeat("c", HoldLine+9) + "\ndata: 1\n\n",
	strings.Repeat("data: "+strings.Repeat("z", 999)+"\n", 99) + "\ndata: 1\n\n",
}

func TestSeedsOfEverySizeAgree(t *testing.T) {
	for _, s := range seeds {
		agree(t, []byte(s))
	}
}

// FuzzScanner looks at short texts: what a text means does not depend on its
// length, and long ones leave time for few. The long seeds are the test above.
func FuzzScanner(f *testing.F) {
	const short = 1 << 10
	for _, s := range seeds {
		if len(s) <= short {
			f.Add([]byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) <= short {
			agree(t, text)
		}
	})
}

func Test_B017_lines_longer_than_any_buffer_are_read_whole(t *testing.T) {
	for _, size := range []int{HoldLine - 1, HoldLine, HoldLine + 1, 1<<20 + 1, 8 << 20} {
		agree(t, []byte("event: big\ndata: "+strings.Repeat("x", size)+"\n\ndata: [DONE]\n\n"))
	}
}

func Test_B019_every_line_ending_gives_the_same_events(t *testing.T) {
	base := "event: a\ndata: {\"x\":1}\n\ndata: 1\ndata: 2\n\n"
	want := fmt.Sprint(*whatwg([]byte(base)))
	for name, text := range map[string]string{
		"LF": base, "CRLF": strings.ReplaceAll(base, "\n", "\r\n"), "CR": strings.ReplaceAll(base, "\n", "\r"),
		"no_space": strings.ReplaceAll(base, ": ", ":"), "BOM": "\xef\xbb\xbf" + base,
	} {
		t.Run(name, func(t *testing.T) {
			agree(t, []byte(text))
			if got := fmt.Sprint(*whatwg([]byte(text))); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func Test_B019_an_event_is_seen_as_soon_as_its_blank_line_came(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		var s Scanner
		var l log
		s.Feed([]byte("data: 1"+end+end), &l)
		if len(l.events) != 1 {
			t.Errorf("%q: %v after the blank line", end, l.events)
		}
	}
}

func Test_B019_an_event_cut_anywhere_is_put_together(t *testing.T) {
	// Two cuts in every pair of places: a line begun in one chunk ends in the
	// next one, which begins another.
	text := "event: a\ndata: 1\r\ndata: 22\n\ndata: 333\n\n"
	want := fmt.Sprintf("%q", *whatwg([]byte(text)))
	for i := range text {
		for j := i; j < len(text); j++ {
			var s Scanner
			var l log
			for _, part := range []string{text[:i], text[i:j], text[j:]} {
				chunk := []byte(part)
				s.Feed(chunk, &l)
				clear(chunk)
			}
			s.Finish(&l)
			if got := fmt.Sprintf("%q", l); got != want {
				t.Fatalf("cut at %d and %d: %s, want %s", i, j, got, want)
			}
		}
	}
}

func Test_B013_safe_never_ends_inside_a_line_nor_between_name_and_data(t *testing.T) {
	var s Scanner
	var l log
	for _, step := range []struct {
		feed    string
		safe    int64
		pending bool
	}{
		{"data: 1\n\n", 9, false},
		{"data: {\"ind", 9, false},
		{"ex\":0}\n", 27, true},
		{"\n", 28, false},
		{": comment\n", 38, false},
		{"event: x\n", 38, false},
		{"data: 2\r", 55, true},
		{"\n\r\n", 58, false},
	} {
		s.Feed([]byte(step.feed), &l)
		if s.Safe() != step.safe || s.Pending() != step.pending {
			t.Errorf("after %q: safe %d pending %v, want %d %v", step.feed, s.Safe(), s.Pending(), step.safe, step.pending)
		}
	}
}

func Test_B017_a_line_longer_than_the_hold_is_released_as_it_comes(t *testing.T) {
	var s Scanner
	var l log
	s.Feed([]byte("event: big\ndata: "), &l)
	for range 100 {
		s.Feed(bytes.Repeat([]byte("x"), 1024), &l)
	}
	if want := int64(17 + 100*1024); s.Safe() != want || !s.InLine() {
		t.Errorf("safe %d of %d, in line %v", s.Safe(), want, s.InLine())
	}
	if cap(s.line) > 4*HoldLine {
		t.Errorf("a long line is kept: %d bytes", cap(s.line))
	}
}

func BenchmarkScanner(b *testing.B) {
	frame := []byte("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1796000000,\"model\":\"m1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello there\"},\"finish_reason\":null}]}\n\n")
	var s Scanner
	var l nothing
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		s.Feed(frame, l)
	}
}

type nothing struct{}

func (nothing) Event(_, _ []byte) {}
func (nothing) Piece([]byte)      {}
func (nothing) Stray([]byte)      {}
