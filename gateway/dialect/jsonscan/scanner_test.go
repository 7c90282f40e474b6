package jsonscan

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

var testShape = NewShape(
	Field{Parent: Root, Name: "model", Keep: 64},
	Field{Parent: Root, Name: "metadata"},
	Field{Parent: 1, Name: "user_id", Keep: 64},
	Field{Parent: Root, Name: "choices"},
	Field{Parent: 3, Name: Each},
	Field{Parent: 4, Name: "delta"},
	Field{Parent: 5, Name: "content", Keep: 64},
	Field{Parent: Root, Name: "usage", Keep: 64, Whole: true},
)

// seeds are committed inputs of the fuzz target: one per rule of the grammar
// and per way in which others read JSON differently.
var seeds = []string{
	`{"model":"m1","messages":[{"role":"user","content":"hi"}]}`,
	`{}`, ``, ` `, `[]`, `null`, `1`, `"x"`, "\xef\xbb\xbf{}", `{} x`, `{}{}`, "{}\n\t ",
	`{"model":"a","model":"b"}`, `{"mod\u0065l":"\u00e9\ud83d\ude00\ud800"}`,
	`{"a":1.0,"b":1e3,"c":-0,"d":1E400,"e":-1.5e-7,"f":0}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":+1}`, `{"a":-}`, `{"a":1e}`,
	`{"a":true,"b":false,"c":null}`, `{"a":tru}`, `{"a":nulll}`, `{"a":[],"b":{},"c":[[],[{}]]}`, `{"a":[1,]}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`,
	"{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\xc0\x80\"}", "{\"a\":\"h\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}", "{\"\xe2\x82\":1}", "{\"a\":\"\xe0\x80\x80\"}", "{\"a\":\"\xe0\xa0\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"}", "{\"a\":\"\xf0\x80\x80\x80\"}", "{\"a\":\"\xf4\x90\x80\x80\"}", "{\"a\":\"\xf5\x80\x80\x80\"}", "{\"a\":\"\xc3(\"}", "{\"a\":\"\x01\"}", "{\"a\":\"tab\there\"}",
	`{"a":"\q"}`, `{"a":"\u12g4"}`, `{"a":"\u12`, `{"a":"\`, `{"metadata":{"user_id":"u-1","x":[{"user_id":2}]}}`,
	`{"choices":[{"delta":{"content":""}},{"delta":{"content":"x"}}],"usage":null}`, `{"choices":[],"usage":{"a":{"b":[]}}}`, `{"choices":null}`,
	strings.Repeat(`{"a":[`, 600), `{"a":` + strings.Repeat("[", 1022) + strings.Repeat("]", 1022) + `}`, `{"a":` + strings.Repeat("[", 1023) + strings.Repeat("]", 1023) + `}`,
	`{"` + strings.Repeat("k", 2000) + `":1}`, `{"a":"` + strings.Repeat("x", 300) + `"}`,
}

// twin is the verdict of the dumb reading: encoding/json, and no more.
func twin(b []byte) bool {
	if !utf8.Valid(b) || !json.Valid(b) || depth(b) >= MaxDepth {
		return false
	}
	return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{"))
}

func depth(b []byte) int {
	d, deepest := 0, 0
	dec := json.NewDecoder(bytes.NewReader(b))
	for {
		t, err := dec.Token()
		if err != nil {
			return deepest
		}
		if x, ok := t.(json.Delim); ok {
			if x == '{' || x == '[' {
				d++
			} else {
				d--
			}
			deepest = max(deepest, d)
		}
	}
}

// scan feeds b in pieces chosen by next and says whether it is one object and
// nothing else.
func scan(s *Scanner, b []byte, next func(left int) int) bool {
	s.Reset(testShape)
	for len(b) > 0 {
		n := next(len(b))
		used := s.Feed(b[:n])
		if used < n {
			if s.Done() && len(bytes.Trim(b[used:], " \t\r\n")) == 0 {
				break
			}
			return false
		}
		b = b[n:]
	}
	return s.Close() == FaultNone
}

func whole(left int) int { return left }
func one(int) int        { return 1 }

func agree(t *testing.T, b []byte) {
	var s Scanner
	want := twin(b)
	r := rand.New(rand.NewPCG(uint64(len(b)), 7))
	random := func(left int) int { return 1 + r.IntN(left) }
	var found []Member
	for name, next := range map[string]func(int) int{"whole": whole, "bytes": one, "random": random} {
		if got := scan(&s, b, next); got != want {
			t.Fatalf("%s: scanner says %v (%s at %d), encoding/json %v: %.200q", name, got, s.Fault(), s.Offset(), want, b)
		}
		if !want {
			continue
		}
		sameValues(t, &s, b)
		if found != nil && !equal(found, s.members) {
			t.Fatalf("%s: members depend on the chunks: %v and %v: %q", name, found, s.members, b)
		}
		found = append([]Member(nil), s.members...)
	}
}

func equal(a, b []Member) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		x.text, y.text = [2]int32{}, [2]int32{}
		if x != y {
			return false
		}
	}
	return true
}

// sameValues compares what was found with what encoding/json finds.
func sameValues(t *testing.T, s *Scanner, b []byte) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("twin cannot read %q: %v", b, err)
	}
	for i, name := range map[int]string{0: "model", 1: "metadata", 3: "choices", 7: "usage"} {
		raw, there := m[name]
		if got := s.Member(i); (got.Kind != Absent) != there || there && string(b[got.From:got.To]) != string(raw) {
			t.Fatalf("%s: found %+v, encoding/json has %q in %q", name, got, raw, b)
		}
		if text := s.Text(i); text != nil && string(text) != string(raw) {
			t.Fatalf("%s: kept %q of %q", name, text, raw)
		}
	}
	var model string
	if json.Unmarshal(m["model"], &model) == nil && s.Text(0) != nil && s.String(0) != model {
		t.Fatalf("model %q, encoding/json has %q", s.String(0), model)
	}
}

func FuzzScanner(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { agree(t, b) })
}

func TestTheSeedsAgreeWithEncodingJSON(t *testing.T) {
	for _, s := range seeds {
		agree(t, []byte(s))
	}
}

func TestMembersOfInterestAreFoundAtTheirPlaces(t *testing.T) {
	var s Scanner
	body := ` {"x":{"model":"no"},"model" : "m\u0031","choices":[{"delta":{"content":""}},{"delta":{"content":"he"}},{"delta":{}}],"metadata":{"user_id":"u"},"usage":{}} `
	if !scan(&s, []byte(body), one) {
		t.Fatal(s.Fault())
	}
	if s.String(0) != "m1" || body[s.Member(0).From:s.Member(0).To] != `"m\u0031"` {
		t.Errorf("model %q at %+v", s.String(0), s.Member(0))
	}
	if !s.Full(6) || s.Member(6).Times != 2 || s.String(6) != "he" {
		t.Errorf("content %+v", s.Member(6))
	}
	if s.String(2) != "u" || s.Full(7) || !s.Has(7) {
		t.Errorf("user_id %q usage %+v", s.String(2), s.Member(7))
	}
}

func BenchmarkScanner(b *testing.B) {
	text := `{"model":"m1","messages":[` + strings.Repeat(`{"role":"user","content":"`+strings.Repeat("The quick brown fox jumps over the lazy dog. ", 40)+`\n"},`, 500) + `{}]}`
	for name, body := range map[string]string{
		"chat_1KB":   `{"model":"m1","temperature":0.7,"stream":true,"messages":[{"role":"system","content":"` + strings.Repeat("be terse ", 40) + `"},{"role":"user","content":"` + strings.Repeat("why? ", 90) + `"}]}`,
		"text_1MB":   text,
		"image_10MB": `{"model":"m1","input":[{"image_url":"` + strings.Repeat("QUJD", 2_500_000) + `"}]}`,
		"cjk_1MB":    `{"model":"m1","input":"` + strings.Repeat("漢字仮名", 90_000) + `"}`,
		"dense_1MB":  `{"model":"m1","input":[` + strings.Repeat(`{"a":1,"b":[true,null,-1.5e3]},`, 32_000) + `{}]}`,
		"frame":      `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1796000000,"model":"m1","choices":[{"index":0,"delta":{"content":"Hello there"},"finish_reason":null}],"usage":null}`,
	} {
		b.Run(name, func(b *testing.B) {
			var s Scanner
			p := []byte(body)
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				if !scan(&s, p, whole) {
					b.Fatal(s.Fault())
				}
			}
		})
	}
}
