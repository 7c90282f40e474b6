package tree

import (
	"testing"

	"github.com/waybill/waybill/events"
)

func TestPaths(t *testing.T) {
	doc, ok := Parse([]byte(`{"a":{"b":[{"x":1},{"x":"two","@type":"t.goo.gle/x.RetryInfo"},[{"x":3}]],"c.d":{"e":true}},"n":null,"f":0.1}`))
	if !ok {
		t.Fatal("no document")
	}
	rows := map[string][]string{
		"a.b[].x":          {"1", "two", "3"},
		"a.b[0].x":         {"1"},
		"a.b.1.x":          {"two"},
		"a.b[RetryInfo].x": {"two"},
		"a.b[x=1].x":       {"1"},
		"a.b[x=9].x":       nil,
		"a.b[7].x":         nil,
		"a.none.x":         nil,
		"f":                {"0.1"},
		"a.b[":             nil,
		`a."c.d".e`:        {""},
	}
	for path, want := range rows {
		t.Run(path, func(t *testing.T) {
			got := doc.All(path)
			if len(got) != len(want) && (len(got) == 0 || want != nil || got[0].Text() != "") {
				t.Fatalf("%d nodes, want %d", len(got), len(want))
			}
			for i := range want {
				if got[i].Text() != want[i] {
					t.Errorf("node %d is %q, want %q", i, got[i].Text(), want[i])
				}
			}
		})
	}
	if doc.At(`a."c.d".e`).Flag() != events.Yes || !doc.At("n").IsNull() || doc.At("n").Flag() != events.Absent {
		t.Error("flags and null are mixed up")
	}
}

func TestNumbersAreExact(t *testing.T) {
	doc, _ := Parse([]byte(`{"n":9007199254740993,"s":"0.1","bad":"NaN","deep":{"x":[]}}`))
	if doc.Get("n").Text() != "9007199254740993" {
		t.Error("an integer above 2^53 changed")
	}
	if d, ok, stated := doc.Get("s").Decimal(); !ok || !stated || d != 100_000 {
		t.Error("a decimal in a string is a number")
	}
	if _, ok, stated := doc.Get("bad").Decimal(); ok || !stated {
		t.Error("a malformed number is stated and not ok")
	}
	if _, ok, stated := doc.Get("none").Decimal(); ok || stated {
		t.Error("an absent number is not stated")
	}
	if _, _, stated := doc.Get("deep").Decimal(); !stated {
		t.Error("an object where a number should be is stated, so that it voids")
	}
}

func TestWhatIsNoDocument(t *testing.T) {
	for _, s := range []string{``, `{`, `{} {}`, `nope`, `{"a":NaN}`, "\x00"} {
		if _, ok := Parse([]byte(s)); ok {
			t.Errorf("%q is a document", s)
		}
	}
}

// FuzzAll: no document and no path makes it panic, and a path that names
// nothing gives nothing.
func FuzzAll(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":1}]}`), "a[].b")
	f.Add([]byte(`[[1,2],{"@type":"x.Y"}]`), "[Y]")
	f.Fuzz(func(t *testing.T, doc []byte, path string) {
		n, ok := Parse(doc)
		if !ok {
			return
		}
		for _, m := range n.All(path) {
			m.Text()
			m.Decimal()
			m.Keys()
		}
	})
}
