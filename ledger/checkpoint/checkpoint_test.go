package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/checkpoint"
	"github.com/waybill/waybill/ledger/ledgertest"
)

func mustKey(t *testing.T, path string) (*checkpoint.Key, note.Verifier) {
	t.Helper()
	k, err := checkpoint.OpenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(k.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	return k, v
}

func some() checkpoint.Checkpoint {
	return checkpoint.Checkpoint{Ledger: uuid.UUID{1, 2}, Head: ledger.Head{Position: 9, RecordedAt: 1_700_000_000_000_001, Hash: events.Hash{7}}}
}

func TestACheckpointIsSignedAndOpened(t *testing.T) {
	k, v := mustKey(t, t.TempDir()+"/keys/key")
	msg, err := some().Sign(k)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := checkpoint.Open(msg, v); err != nil || got != some() {
		t.Errorf("%+v %v", got, err)
	}
	want := "waybill-ledger/01020000-0000-0000-0000-000000000000\n9\nBwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n2023-11-14T22:13:20.000001Z\n\n— waybill "
	if !strings.HasPrefix(string(msg), want) {
		t.Errorf("the format is for ever:\n%s", msg)
	}
	_, other := mustKey(t, t.TempDir()+"/key")
	if _, err := checkpoint.Open(msg, other); !errors.Is(err, checkpoint.ErrOtherKey) {
		t.Errorf("another key: %v", err)
	}
	for i := range msg {
		forged := bytes.Clone(msg)
		forged[i] ^= 1
		if got, err := checkpoint.Open(forged, v); err == nil && got != some() {
			t.Fatalf("byte %d changed: %+v", i, got)
		}
	}
}

func TestWhatIsNoCheckpointIsRefused(t *testing.T) {
	good := some().Text()
	for name, text := range map[string]string{
		"nothing":                 "",
		"another origin":          strings.Replace(good, "waybill-ledger/", "example.com/log ", 1),
		"position zero":           strings.Replace(good, "\n9\n", "\n0\n", 1),
		"a position with a plus":  strings.Replace(good, "\n9\n", "\n+9\n", 1),
		"a position with a zero":  strings.Replace(good, "\n9\n", "\n09\n", 1),
		"a short hash":            strings.Replace(good, "BwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "Bw==", 1),
		"another time zone":       strings.Replace(good, "22:13:20.000001Z", "23:13:20.000001+01:00", 1),
		"a line short":            strings.Join(strings.SplitAfter(good, "\n")[:3], ""),
		"no line end at the last": strings.TrimSuffix(good, "\n"),
	} {
		if c, err := checkpoint.Parse(text); !errors.Is(err, checkpoint.ErrMalformed) {
			t.Errorf("%s: %+v %v", name, c, err)
		}
	}
	if c, err := checkpoint.Parse(good + "a later version's line\n"); err != nil || c != some() {
		t.Errorf("a further line: %+v %v", c, err)
	}
}

func TestAKeyIsMadeOnceAndKeptPrivate(t *testing.T) {
	path := t.TempDir() + "/keys/key"
	one, _ := mustKey(t, path)
	two, _ := mustKey(t, path)
	if one.Verifier() != two.Verifier() {
		t.Error("a second key was made")
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Dir(path) + "/.key*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.OpenKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others may read: %v", err)
	}
}

func TestAListGivesItsNotesWhateverACrashLeft(t *testing.T) {
	dir := t.TempDir()
	k, v := mustKey(t, dir+"/key")
	var notes [][]byte
	for p := range 3 {
		c := some()
		c.Head.Position = events.Position(p + 1)
		msg, err := c.Sign(k)
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, msg)
	}
	whole := bytes.Join(notes, nil)
	for cut := range whole {
		list := append(bytes.Clone(whole[:cut]), '\n') // what Append does to an open line
		list = append(list, notes[0]...)
		got := checkpoint.Split(list)
		if len(got) == 0 {
			t.Fatalf("cut at %d: no note", cut)
		}
		last, err := checkpoint.Open(got[len(got)-1], v)
		if err != nil || last.Head.Position != 1 {
			t.Fatalf("cut at %d: the note behind it: %+v %v", cut, last, err)
		}
		for i, msg := range got[:len(got)-1] {
			if c, err := checkpoint.Open(msg, v); err == nil && c.Head.Position != events.Position(i+1) {
				t.Fatalf("cut at %d: note %d is %+v", cut, i, c)
			}
		}
	}
	if got := checkpoint.Split(whole); len(got) != 3 {
		t.Errorf("%d notes", len(got))
	}
}

// store is a ledger in memory and a keeper of it.
func store(t *testing.T, dir string) (*ledger.Log, *ledgertest.Maker, *checkpoint.Keeper, note.Verifier) {
	t.Helper()
	l := ledger.Open(ledgertest.NewMemory())
	t.Cleanup(func() { _ = l.Close() })
	k, v := mustKey(t, dir+"/key")
	return l, ledgertest.NewMaker(), keeper(t, l, dir, k), v
}

func keeper(t *testing.T, s checkpoint.Store, dir string, k *checkpoint.Key) *checkpoint.Keeper {
	t.Helper()
	c, err := checkpoint.NewKeeper(checkpoint.Options{Store: s, Key: k, Dir: dir, Interval: 10 * time.Minute, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func appendTo(t *testing.T, l *ledger.Log, m *ledgertest.Maker, n int) {
	t.Helper()
	if _, err := l.Append(t.Context(), m.Drafts(n)...); err != nil {
		t.Fatal(err)
	}
}

func TestAKeeperSignsWhatIsNewAndGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	l, m, k, v := store(t, dir)
	if err := k.Take(t.Context()); err != nil || k.State().Note != nil {
		t.Fatalf("an empty ledger: %v", err)
	}
	for _, n := range []int{5, 0, 3} {
		if n > 0 {
			appendTo(t, l, m, n)
		}
		if err := k.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(dir + "/*.notes")
	list, err := os.ReadFile(files[0])
	if err != nil || len(checkpoint.Split(list)) != 2 {
		t.Fatalf("%d notes %v", len(checkpoint.Split(list)), err)
	}
	latest, err := checkpoint.Open(k.State().Note, v)
	if h, _ := l.Head(t.Context()); err != nil || latest.Head != h || h.Position != 8 {
		t.Errorf("%+v %v", latest, err)
	}
	key, _ := mustKey(t, dir+"/key")
	if again := keeper(t, l, dir, key); again.State().Head.Position != 8 {
		t.Errorf("after a restart: %+v", again.State())
	}
}

// TestAKeyThatWasReplacedBeginsAnew: the notes of the old one stay, and are
// nothing that the new one could go by.
func TestAKeyThatWasReplacedBeginsAnew(t *testing.T) {
	dir := t.TempDir()
	l, m, k, old := store(t, dir)
	appendTo(t, l, m, 5)
	if err := k.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir + "/key"); err != nil {
		t.Fatal(err)
	}
	key, v := mustKey(t, dir+"/key")
	again := keeper(t, l, dir, key)
	if again.State().Note != nil {
		t.Errorf("it goes by what another key signed: %+v", again.State())
	}
	if err := again.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, err := checkpoint.Open(again.State().Note, v); err != nil || c.Head.Position != 5 {
		t.Errorf("%+v %v", c, err)
	}
	if c, err := checkpoint.Open(k.State().Note, old); err != nil || c.Head.Position != 5 {
		t.Errorf("the old one: %+v %v", c, err)
	}
}

func TestAKeeperSignsNoRewriteAndNoCut(t *testing.T) {
	for name, c := range map[string]struct{ events, at int }{"rewritten": {8, 5}, "cut off": {3, 4}} {
		dir := t.TempDir()
		l, m, k, _ := store(t, dir)
		appendTo(t, l, m, 5)
		if err := k.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := ledger.Open(ledgertest.NewMemory())
		defer other.Close()
		if _, err := other.Append(t.Context(), first(t, l)); err != nil { // the ledger's name stays
			t.Fatal(err)
		}
		appendTo(t, other, ledgertest.NewMaker(), c.events-1)
		key, _ := mustKey(t, dir+"/key")
		bad := keeper(t, other, dir, key)
		var fault *ledger.Fault
		if err := bad.Take(t.Context()); !errors.As(err, &fault) || int(fault.Position) != c.at || bad.State().Fault == nil || bad.State().Head.Position != 5 {
			t.Errorf("%s: %v, state %+v", name, err, bad.State())
		}
	}
}

// first is the draft of a ledger's first event.
func first(t *testing.T, l *ledger.Log) events.Draft {
	t.Helper()
	got, err := l.Read(t.Context(), 0, ledger.Filter{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return events.Draft{Header: got[0].Header, Data: got[0].Data}
}

func TestAKeeperRunsAtItsInterval(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, m, k, _ := store(t, dir)
		appendTo(t, l, m, 1)
		done := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { defer close(done); k.Run(ctx) }()
		synctest.Wait()
		for want := 1; want < 4; want++ {
			if got := int(k.State().Head.Position); got != want {
				t.Errorf("position %d, want %d", got, want)
			}
			appendTo(t, l, m, 1)
			time.Sleep(10 * time.Minute)
			synctest.Wait()
		}
		cancel()
		<-done
		_ = l.Close()
	})
}
