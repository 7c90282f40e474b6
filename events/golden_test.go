package events

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/uuid"
)

// A golden pair is attempt.routed.v1.2.bin and .json: the second payload that
// was ever stored as a golden of version 1, and its canonical JSON. Pairs are
// only ever added: `go test ./events -run Golden -update` adds one for each
// kind whose payload has none that holds all its present fields.

var goldenName = regexp.MustCompile(`^(.+)\.v(\d+)\.(\d+)\.bin$`)

// goldenHeader is the envelope of every golden.
func goldenHeader(k Kind) Header {
	return Header{ID: uuid.UUID{1: 1, 15: byte(k)}, Writer: uuid.UUID{2: 2, 15: 1}, WriterSeq: uint64(k), ObservedAt: 1_796_000_000_000_000,
		Account: "acct", Epoch: 0xe, Model: "m1", Request: uuid.UUID{3: 3, 15: 9}, Attempt: 1}
}

func goldenLine(k Kind, version uint16, payload []byte) []byte {
	r := Record{Header: goldenHeader(k), Kind: k, Version: version, Codec: CodecWire, Payload: payload}
	return append(AppendRecordJSON(nil, &r, Position(k), 1_796_000_000_000_001, Hash{byte(k)}), '\n')
}

// TestGoldensDecodeForEver: whatever was committed once is read today as it
// was read then, and written back in the same bytes.
func TestGoldensDecodeForEver(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "golden", "*.bin"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			m := goldenName.FindStringSubmatch(filepath.Base(name))
			k, ok := ParseKind(m[1])
			if !ok {
				t.Fatalf("the kind is gone: names are permanent")
			}
			version, _ := strconv.Atoi(m[2])
			payload := mustRead(t, name)
			line := goldenLine(k, uint16(version), payload)
			if want := mustRead(t, name[:len(name)-3]+"json"); !bytes.Equal(line, want) {
				t.Errorf("it is read as\n%snot as\n%s", line, want)
			}
			r, _, _, _, err := ParseRecordJSON(line)
			if err != nil || !bytes.Equal(r.Payload, payload) {
				t.Errorf("its JSON gives % x, %v", r.Payload, err)
			}
			p, err := (&Record{Kind: k, Version: uint16(version), Codec: CodecWire, Payload: payload}).Open()
			if _, unknown := p.(*Unknown); unknown || err != nil {
				t.Errorf("it cannot be read any more: %v", err)
			}
		})
	}
}

// TestEveryKindHasAGolden: a kind, version or field without one fails here.
func TestEveryKindHasAGolden(t *testing.T) {
	for _, k := range Kinds() {
		f := &filler{rng: rand.New(rand.NewPCG(uint64(k), 0)), full: true}
		payload := Seal(&Draft{Data: f.payload(k)}).Payload
		n, found := 0, false
		for {
			base := filepath.Join("testdata", "golden", fmt.Sprintf("%s.v%d.%d", k, kinds[k].version, n+1))
			b, err := os.ReadFile(base + ".bin")
			if err != nil {
				if !found && *update {
					mustWrite(t, base+".bin", payload)
					mustWrite(t, base+".json", goldenLine(k, kinds[k].version, payload))
					found = true
				}
				break
			}
			n++
			found = found || bytes.Equal(b, payload)
		}
		if !found {
			t.Errorf("%s version %d has changed and has no golden of its present fields: `go test ./events -run Golden -update` adds one; never edit an old one", k, kinds[k].version)
		}
	}
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustWrite(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
