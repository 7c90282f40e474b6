package views_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/test/played"
)

var (
	update = flag.Bool("update", false, "write the golden states of versions that have none")
	record = flag.Bool("record", false, "record the golden history (once: it is never written again)")
)

const (
	historyFile = "testdata/history.jsonl.zst"
	goldenFile  = "testdata/states.golden"
)

// A fold that gives another state for the same events must have another
// Version: a gateway would load snapshots that it would not have written. The
// history is fixed, and so is what each version makes of it: -update adds new
// versions and changes no line of one that is there.
func TestAChangedFoldHasAnotherVersion(t *testing.T) {
	if *record {
		recordHistory(t)
	}
	found, golden := states(t), read(t)
	var missing []string
	for _, s := range found {
		key, hash, _ := strings.Cut(s, " = ")
		switch want, ok := golden[key]; {
		case !ok:
			missing = append(missing, s)
		case want != hash:
			t.Errorf("%s: the fold makes another state of the golden history than it did: give the projection a new Version, then run this test with -update", key)
		}
	}
	if len(missing) == 0 || t.Failed() {
		return
	}
	if !*update {
		t.Fatalf("%d golden states are missing, the first is %s: run this test with -update", len(missing), missing[0])
	}
	old, _ := os.ReadFile(goldenFile)
	if err := os.WriteFile(goldenFile, append(old, []byte(strings.Join(missing, "\n")+"\n")...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// read is the golden states by name, version and position.
func read(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(goldenFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		key, hash, _ := strings.Cut(strings.TrimSpace(line), " = ")
		out[key] = hash
	}
	return out
}

// states folds the golden history and digests every state now and then.
func states(t *testing.T) (out []string) {
	t.Helper()
	b, err := os.ReadFile(historyFile)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	views := all(requests.Keep)
	rows := views[4].(*requests.View)
	rows.Record()
	digest := func(name string, version uint32, at int, state []byte) {
		out = append(out, fmt.Sprintf("%s %d at %d = %x", name, version, at, sha256.Sum256(state)))
	}
	for n := 1; lines.Scan(); n++ {
		e, err := events.ParseJSON(lines.Bytes())
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		for _, p := range views {
			p.Apply(&e)
		}
		if n%150 != 0 {
			continue
		}
		for _, p := range views {
			digest(p.Name(), p.Version(), n, p.AppendState(nil))
		}
		segment := rows.Segment()
		digest(requests.Heads, rows.Version(), n, rows.AppendHead(nil))
		digest(requests.Indexes, rows.Version(), n, segment.Index().AppendState(nil))
		for part := range segment.Parts() {
			digest(requests.PartName(part), rows.Version(), n, segment.AppendPart(nil, part))
		}
		rows.Cut()
	}
	if err := lines.Err(); err != nil || len(out) < 4*7 {
		t.Fatalf("%d states, %v", len(out), err)
	}
	return out
}

// recordHistory plays an incident and random traffic over 23 accounts.
func recordHistory(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(historyFile); err == nil {
		t.Fatal("there is a golden history")
	}
	path := filepath.Join(t.TempDir(), "waybill.db")
	names := append([]string{"a", "b", "c"}, played.Names(20)...)
	doc := played.Document(names...)
	doc.Policy.TrialWait, doc.Policy.PinWait = 1e6, 1e6
	s := place(t, path)
	g := played.OpenWith(t, s, played.NewTicking(), doc, names...)
	g.Incident()
	g.Traffic(1, 250, 24)
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write(t.Context(), s, 1, 0, w, nil); err != nil {
		t.Fatal(err)
	}
	g.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(historyFile, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
