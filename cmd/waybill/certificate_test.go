package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/test/played"
)

func certified(t *testing.T, path string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return out
}

func TestACertificateIsTheSameButForItsTime(t *testing.T) {
	a := incident(t, false)
	dir := t.TempDir()
	var list []map[string]any
	for _, name := range []string{"one.json", "two.json"} {
		a.sh(exitFine, "verify", "--certificate", filepath.Join(dir, name))
		list = append(list, certified(t, filepath.Join(dir, name)))
	}
	for _, name := range []string{"certificate", "ok", "ledger", "positions", "head", "decisions", "rederived", "checkpoint", "binary", "verified_at", "digest"} {
		if _, ok := list[0][name]; !ok {
			t.Errorf("no %q: %v", name, list[0])
		}
	}
	if list[0]["verified_at"] == nil || list[0]["ok"] != true || list[0]["ledger"] == "" {
		t.Errorf("%v", list[0])
	}
	for _, c := range list {
		delete(c, "verified_at")
	}
	one, _ := json.Marshal(list[0])
	two, _ := json.Marshal(list[1])
	if !bytes.Equal(one, two) {
		t.Errorf("two certificates of one ledger differ:\n%s\n%s", one, two)
	}
	more := incident(t, false)
	if code, _, errs := shell(t, a.env, "verify", "--certificate", dir); code != exitUsage || !strings.Contains(errs, dir+" is a directory") {
		t.Errorf("a directory: exit %d, %s", code, errs)
	}
	more.sh(exitFine, "verify", "--certificate", filepath.Join(dir, "other.json"))
	if other := certified(t, filepath.Join(dir, "other.json")); other["digest"] == list[0]["digest"] || other["ledger"] == list[0]["ledger"] {
		t.Errorf("another ledger has the same certificate: %v", other)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	a.sh(exitUsage, "verify", "--certificate", filepath.Join(dir, "nowhere", "c.json"))
}

func TestACertificateNamesTheCheckpointsThatWereHeld(t *testing.T) {
	a := incident(t, false)
	file := filepath.Join(t.TempDir(), "c.json")
	var v struct {
		Head struct {
			Position int
			Hash     string
		}
	}
	a.json(&v, "verify")
	a.sh(exitFine, "verify", "--checkpoint", jsonText(v.Head.Position)+":"+v.Head.Hash, "--certificate", file)
	if c := certified(t, file); c["checkpoint"] == nil || c["checkpoints"] != 1.0 {
		t.Errorf("%v", c)
	}
}

func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// smash overwrites the heads of the table pages that hold a text, as a bad disk
// would.
func smash(t *testing.T, path, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := int(binary.BigEndian.Uint16(b[16:]))
	const leaf = 0x0d
	hit := false
	for at := size; at+size <= len(b); at += size {
		if page := b[at : at+size]; page[0] == leaf && bytes.Contains(page, []byte(text)) {
			hit = true
			copy(page, bytes.Repeat([]byte{0xff}, 16))
		}
	}
	if err := os.WriteFile(path, b, 0o600); err != nil || !hit {
		t.Fatal("no page holds it", err)
	}
}

func TestADamagedPageIsAFaultWithItsPosition(t *testing.T) {
	a := &asked{t: t, path: filepath.Join(t.TempDir(), "waybill.db")}
	a.env = []string{"WAYBILL_LEDGER=sqlite:" + a.path}
	store, err := sqlite.Open(a.path)
	if err != nil {
		t.Fatal(err)
	}
	gw := played.Open(t, store, played.NewClock(), "a", "b")
	ask := func() {
		for range 60 {
			gw.Ask(played.Answer{})
		}
	}
	ask()
	gw.Do(events.Header{Account: "a"}, &events.OperatorReleased{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "in the middle"}})
	ask()
	ask()
	gw.Close()
	var whole struct {
		OK        bool
		Positions int
	}
	a.json(&whole, "verify")
	smash(t, a.path, "in the middle")
	var v struct {
		OK        bool
		Positions int
		Fault     struct {
			Position     int
			Kind, Detail string
		}
	}
	file := filepath.Join(t.TempDir(), "c.json")
	out := a.sh(exitCheckFailed, "verify", "--json", "--certificate", file)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if v.OK || v.Fault.Kind != "unreadable" || v.Fault.Position < 20 || v.Fault.Position > whole.Positions-20 || v.Positions != v.Fault.Position-1 {
		t.Errorf("%+v", v)
	}
	if c := certified(t, file); c["ok"] != false || c["fault"] == nil {
		t.Errorf("%v", c)
	}
	if out := a.sh(exitCheckFailed, "verify"); !strings.Contains(out, "FAULT at position "+jsonText(v.Fault.Position)) {
		t.Errorf("%s", out)
	}
	if !whole.OK {
		t.Error("it was not whole before")
	}
}
