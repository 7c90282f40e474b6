package scenario

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the transcripts with what they print now")

// transcript runs one file of testdata. Its diff is what a review reads.
func transcript(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := New()
	got := w.Run(string(text))
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want := string(text); got != want {
		t.Errorf("%s differs (go test ./test/scenario -update rewrites it):\n%s", path, firstDifference(want, got))
	}
	if strings.Contains(got, "error: ") {
		t.Errorf("%s holds an error:\n%s", path, got[strings.Index(got, "error: "):])
	}
	for _, g := range w.Gateways {
		g.Offline = false
		g.Commit()
	}
	if n, err := w.Verify(); err != nil {
		t.Errorf("%s: after %d decisions: %v", path, n, err)
	}
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			from := max(i-6, 0)
			return strings.Join(a[from:i], "\n") + "\n- " + a[i] + "\n+ " + b[i]
		}
	}
	return "one ends early"
}
