package inquiry_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/test/played"
)

// shelved is a ledger whose positions 1 to 30 are in three archives.
func shelved(t *testing.T) (log *ledger.Log, a []ledger.Archived) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "waybill.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	g := played.Open(t, store, played.NewClock(), "a", "b", "c")
	g.Incident()
	a, err = archive.Run(t.Context(), store, archive.Options{Dir: t.TempDir(), Size: 10, To: 30, Now: time.Now})
	if err != nil || len(a) != 3 {
		t.Fatal(len(a), err)
	}
	g.Close()
	r, err := sqlite.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	log = ledger.Open(archive.Over(r, archive.NewPast()))
	t.Cleanup(func() { log.Close() })
	return log, a
}

// repacked changes the text in an archive.
func repacked(t *testing.T, how func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		d, err := zstd.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(d)
		if err != nil {
			t.Fatal(err)
		}
		e, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return e.EncodeAll(how(text), nil)
	}
}

func TestAnArchiveThatIsThereAndWrongIsAFault(t *testing.T) {
	manifest := func(file string) string { return strings.TrimSuffix(file, ".jsonl.zst") + ".json" }
	file := func(file string) string { return file }
	for name, row := range map[string]struct {
		of   func(string) string
		how  func([]byte) []byte
		at   events.Position
		kind string
	}{
		"its manifest was edited": {manifest, func(b []byte) []byte { return bytes.Replace(b, []byte("1"), []byte("2"), 1) }, 11, ledger.FaultArchive},
		"its manifest is empty":   {manifest, func([]byte) []byte { return nil }, 11, ledger.FaultArchive},
		"its file is empty":       {file, func([]byte) []byte { return nil }, 11, ledger.FaultGap},
		"its file is longer":      {file, func(b []byte) []byte { return append(b, "xx"...) }, 20, ledger.FaultArchive},
		"an event was changed and packed again": {file, repacked(t, func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"writer_seq":15`), []byte(`"writer_seq":16`), 1)
		}), 15, ledger.FaultChain},
		"the last event was removed and packed again": {file, repacked(t, func(b []byte) []byte {
			return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]
		}), 20, ledger.FaultGap},
	} {
		t.Run(name, func(t *testing.T) {
			log, a := shelved(t)
			ledgertest.Edit(t, row.of(a[1].Path), row.how)
			v, err := inquiry.Verify(t.Context(), log, inquiry.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if v.OK || v.Fault == nil || v.Fault.Position != row.at || v.Fault.Kind != row.kind || v.Unread != nil {
				t.Errorf("%s", v.Sentence())
			}
		})
	}
}

func TestWhatIsAtHandIsReadAcrossAnArchiveThatIsNot(t *testing.T) {
	for name, row := range map[string]struct {
		gone   []int
		unread events.Position
		says   string
	}{
		"none":       {nil, 0, "The ledger holds: "},
		"the first":  {[]int{0}, 10, "Archived positions 1 to 10 were not at hand"},
		"the middle": {[]int{1}, 20, "Archived positions 11 to 20 were not at hand"},
		"two":        {[]int{0, 2}, 30, "Archived positions 1 to 10, 21 to 30 were not at hand"},
		"all":        {[]int{0, 1, 2}, 30, "What is archived up to 30 was not at hand"},
	} {
		t.Run(name, func(t *testing.T) {
			log, a := shelved(t)
			for _, i := range row.gone {
				ledgertest.Edit(t, a[i].Path, nil)
			}
			v, err := inquiry.Verify(t.Context(), log, inquiry.VerifyOptions{Checkpoints: []ledger.Head{a[0].End, a[1].End, a[2].End}})
			if err != nil {
				t.Fatal(err)
			}
			whole := v.Head.Position - events.Position(10*len(row.gone))
			if !v.OK || v.Positions != uint64(whole) || !strings.Contains(v.Sentence(), row.says) {
				t.Errorf("%d of %d: %s", v.Positions, whole, v.Sentence())
			}
			if (v.Unread == nil) != (row.unread == 0) || v.Unread != nil && v.Unread.Position != row.unread || (v.Decisions > 0) != (row.unread == 0) {
				t.Errorf("%+v, %d decisions", v.Unread, v.Decisions)
			}
			if len(row.gone) == 1 && row.gone[0] == 1 { // what is behind the gap is not taken on trust
				ledgertest.Edit(t, a[2].Path, repacked(t, func(b []byte) []byte {
					return bytes.Replace(b, []byte(`"writer_seq":25`), []byte(`"writer_seq":26`), 1)
				}))
				if v, err := inquiry.Verify(t.Context(), log, inquiry.VerifyOptions{}); err != nil || v.OK || v.Fault.Position != 25 {
					t.Errorf("%s %v", v.Sentence(), err)
				}
			}
		})
	}
}

// straying is a log whose store holds a row that nobody appended.
type straying struct{ inquiry.Log }

func (straying) Stray(context.Context) (*ledger.Fault, error) { return ledger.StrayAt(99, 97), nil }

func TestARowOutsideOfTheLedgerIsAFault(t *testing.T) {
	log, _ := shelved(t)
	v, err := inquiry.Verify(t.Context(), straying{log}, inquiry.VerifyOptions{})
	if err != nil || v.OK || v.Fault.Position != 99 || v.Fault.Kind != ledger.FaultHead {
		t.Errorf("%s %v", v.Sentence(), err)
	}
}
