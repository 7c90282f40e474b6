package admission

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
)

var update = flag.Bool("update", false, "write the golden state hashes")

// A fold that gives another state for the same events must have another
// Version, or it would load snapshots that it would not have written.
// testdata/history.jsonl is a fixed history, never written again.
func TestGoldenStateOfAFixedHistory(t *testing.T) {
	log, err := os.ReadFile("testdata/history.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	v := New()
	var b strings.Builder
	fmt.Fprintf(&b, "version %d\n", v.Version())
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		e, err := events.ParseJSON(lines.Bytes())
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		v.Apply(&e)
		if n%50 == 0 {
			fmt.Fprintf(&b, "%d %x\n", n, sha256.Sum256(v.AppendState(nil)))
		}
	}
	const file = "testdata/state.golden"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Fatalf("the fold gives another state: raise Version, then run with -update\ngot\n%s\nwant\n%s", &b, want)
	}
}
