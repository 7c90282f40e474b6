package archive_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/test/played"
)

// source is a ledger with an incident in it.
func source(t *testing.T) *ledgertest.Memory {
	t.Helper()
	g, m := played.InMemory(t, "a", "b", "c")
	g.Incident()
	g.Close()
	return m.Reopen()
}

func export(t *testing.T, s ledger.Store, from, to events.Position) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := archive.Write(t.Context(), s, from, to, &b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func targets(t *testing.T, fn func(t *testing.T, empty ledger.Store)) {
	t.Run("memory", func(t *testing.T) { fn(t, ledgertest.NewMemory()) })
	t.Run("sqlite", func(t *testing.T) {
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "w.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		fn(t, s)
	})
}

func TestAnImportedLedgerIsTheSameByteForByte(t *testing.T) {
	src := source(t)
	all := export(t, src, 0, 0)
	targets(t, func(t *testing.T, dst ledger.Store) {
		span, err := archive.Read(t.Context(), dst, bytes.NewReader(all), nil)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := src.Head(t.Context())
		got, err := dst.Head(t.Context())
		if err != nil || got != want || span.To != want.Position || span.Known != 0 {
			t.Fatalf("head %+v, want %+v; %+v %v", got, want, span, err)
		}
		if again := export(t, dst, 0, 0); !bytes.Equal(again, all) {
			t.Fatal("exported again it differs")
		}
		if v, err := ledger.Verify(t.Context(), dst, ledger.VerifyOptions{}); err != nil || v.Fault != nil {
			t.Fatalf("%+v %v", v.Fault, err)
		}
	})
}

func TestASecondImportChangesNothing(t *testing.T) {
	src := source(t)
	all := export(t, src, 0, 0)
	targets(t, func(t *testing.T, dst ledger.Store) {
		for range 2 {
			if _, err := archive.Read(t.Context(), dst, bytes.NewReader(all), nil); err != nil {
				t.Fatal(err)
			}
		}
		span, err := archive.Read(t.Context(), dst, bytes.NewReader(all), nil)
		if err != nil || span.Known != uint64(span.To) {
			t.Fatalf("%+v %v", span, err)
		}
	})
}

func TestSegmentsFollowEachOther(t *testing.T) {
	src := source(t)
	targets(t, func(t *testing.T, dst ledger.Store) {
		for _, seg := range [][2]events.Position{{1, 10}, {11, 20}, {15, 25}, {26, 0}} {
			if _, err := archive.Read(t.Context(), dst, bytes.NewReader(export(t, src, seg[0], seg[1])), nil); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(export(t, dst, 0, 0), export(t, src, 0, 0)) {
			t.Fatal("in segments it differs")
		}
	})
}

func TestAnImportedLedgerGoesOn(t *testing.T) {
	all := export(t, source(t), 0, 0)
	targets(t, func(t *testing.T, dst ledger.Store) {
		if _, err := archive.Read(t.Context(), dst, bytes.NewReader(all), nil); err != nil {
			t.Fatal(err)
		}
		d := events.Draft{Header: events.Header{ID: [16]byte{1}, Writer: [16]byte{2}, WriterSeq: 1, ObservedAt: played.Begin}, Data: &events.GatewayStarted{}}
		res, err := dst.Commit(t.Context(), []events.Record{events.Seal(&d)})
		if err != nil || res[0].Err != nil || res[0].Known {
			t.Fatalf("%+v %v", res, err)
		}
		if v, err := ledger.Verify(t.Context(), dst, ledger.VerifyOptions{}); err != nil || v.Fault != nil {
			t.Fatalf("%+v %v", v.Fault, err)
		}
	})
}

func TestAGapAndAForkAreRefused(t *testing.T) {
	src, other := source(t), source(t) // ids differ: a fork from position 1 on
	targets(t, func(t *testing.T, dst ledger.Store) {
		if _, err := archive.Read(t.Context(), dst, bytes.NewReader(export(t, src, 5, 0)), nil); !errors.Is(err, archive.ErrGap) {
			t.Fatalf("into an empty ledger from 5 on: %v", err)
		}
		if _, err := archive.Read(t.Context(), dst, bytes.NewReader(export(t, src, 1, 10)), nil); err != nil {
			t.Fatal(err)
		}
		before := export(t, dst, 0, 0)
		rows := map[string]struct {
			in   []byte
			want error
		}{
			"a gap":                    {export(t, src, 12, 0), archive.ErrGap},
			"a fork below the head":    {export(t, other, 1, 0), archive.ErrFork},
			"a fork just at the head":  {export(t, other, 11, 0), archive.ErrFork},
			"a fork from the middle":   {export(t, other, 5, 0), archive.ErrFork},
			"a fork that is no longer": {export(t, other, 3, 4), archive.ErrFork},
		}
		for name, row := range rows {
			if _, err := archive.Read(t.Context(), dst, bytes.NewReader(row.in), nil); !errors.Is(err, row.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !bytes.Equal(export(t, dst, 0, 0), before) {
			t.Fatal("a refused import changed the ledger")
		}
	})
}

func TestWhatWasTouchedIsRefusedWithItsPosition(t *testing.T) {
	src := source(t)
	all := string(export(t, src, 0, 0))
	lines := strings.SplitAfter(all, "\n")
	swap := func(i, j int) string {
		l := append([]string(nil), lines...)
		l[i], l[j] = l[j], l[i]
		return strings.Join(l, "")
	}
	rows := map[string]struct {
		in string
		at events.Position
	}{
		"a changed word":      {strings.Replace(all, `"account":"b"`, `"account":"z"`, 1), 3},
		"a line left out":     {strings.Join(append(append([]string(nil), lines[:6]...), lines[7:]...), ""), 7},
		"two lines swapped":   {swap(8, 9), 9},
		"a changed timestamp": {strings.Replace(all, `"recorded_at":"2026-11-30T14:02`, `"recorded_at":"2026-11-30T14:01`, 1), 0},
	}
	for name, row := range rows {
		_, err := archive.Read(t.Context(), ledgertest.NewMemory(), strings.NewReader(row.in), nil)
		var f *ledger.Fault
		if !errors.As(err, &f) || row.at != 0 && f.Position != row.at {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := archive.Read(t.Context(), ledgertest.NewMemory(), strings.NewReader(all[:len(all)/2]), nil); err == nil {
		t.Error("half a line was taken")
	}
}

func TestALineThatNoExportWritesIsRefused(t *testing.T) {
	first, _, _ := strings.Cut(string(export(t, source(t), 1, 1)), "\n")
	rows := map[string]string{
		"an unknown member":                 strings.Replace(first, `{"position":1,`, `{"position":1,"note":"x",`, 1),
		"a member twice":                    strings.Replace(first, `{"position":1,`, `{"position":1,"position":1,`, 1),
		"an unknown member of data":         strings.Replace(first, `"data":{`, `"data":{"note":"x",`, 1),
		"spaces":                            strings.Replace(first, `{"position":1,`, `{"position": 1,`, 1),
		"a member twice, one of them other": strings.Replace(first, `{"position":1,`, `{"position":7,"position":1,`, 1),
	}
	for name, line := range rows {
		m := ledgertest.NewMemory()
		if _, err := archive.Read(t.Context(), m, strings.NewReader(line+"\n"), nil); !errors.Is(err, archive.ErrForm) || line == first {
			t.Errorf("%s: %v", name, err)
		}
		if h, err := m.Head(t.Context()); err != nil || h.Position != 0 {
			t.Errorf("%s: the ledger ends at %d, %v", name, h.Position, err)
		}
	}
	if _, err := archive.Read(t.Context(), ledgertest.NewMemory(), strings.NewReader("\n"), nil); !errors.Is(err, archive.ErrEmpty) {
		t.Errorf("nothing: %v", err)
	}
}

func TestABrokenLedgerIsNotExported(t *testing.T) {
	src := source(t)
	src.Tamper(9, func(r *ledger.Row) { r.Account = "z" })
	var f *ledger.Fault
	if _, err := archive.Write(t.Context(), src, 0, 0, &bytes.Buffer{}, nil); !errors.As(err, &f) || f.Position != 9 {
		t.Fatalf("got %v", err)
	}
}

func TestCompressedArchivesAreKnownByTheirFirstBytes(t *testing.T) {
	src := source(t)
	var b bytes.Buffer
	z, err := archive.Compress(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write(t.Context(), src, 0, 0, z, nil); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string][]byte{"compressed": b.Bytes(), "plain": export(t, src, 0, 0)} {
		r, err := archive.Open(bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		dst := ledgertest.NewMemory()
		if _, err := archive.Read(t.Context(), dst, r, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(export(t, dst, 0, 0), export(t, src, 0, 0)) {
			t.Errorf("%s: differs", name)
		}
	}
}
