package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waybill/waybill/ledger/durable"
)

func say(text string) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	}
}

func TestAFileIsThereWholeOrAsItWas(t *testing.T) {
	broken := errors.New("the disk is full")
	half := func(f *os.File) error { return errors.Join(say("ha")(f), broken) }
	for name, row := range map[string]struct {
		put   func(string, fs.FileMode, func(*os.File) error) error
		fill  func(*os.File) error
		there string // before
		want  string // after
		err   error
	}{
		"a new file":                         {durable.Replace, say("new"), "", "new", nil},
		"one in place of another":            {durable.Replace, say("new"), "old", "new", nil},
		"one that broke off changes nothing": {durable.Replace, half, "old", "old", broken},
		"one that broke off leaves nothing":  {durable.Replace, half, "", "", broken},
		"one that must be new":               {durable.Create, say("new"), "", "new", nil},
		"one that must be new and is not":    {durable.Create, say("new"), "old", "old", fs.ErrExist},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			if row.there != "" {
				if err := os.WriteFile(path, []byte(row.there), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := row.put(path, 0o640, row.fill); !errors.Is(err, row.err) || err != nil && row.err == nil {
				t.Errorf("err %v, want %v", err, row.err)
			}
			got, _ := os.ReadFile(path) // none is ""
			if string(got) != row.want {
				t.Errorf("%q stands there, want %q", got, row.want)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) > 1 || row.want == "" && len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			if fi, err := os.Stat(path); row.err == nil && (err != nil || fi.Mode().Perm() != 0o640) {
				t.Errorf("mode %v, %v", fi, err)
			}
		})
	}
}

func TestADirectoryThatIsNotThereIsAnError(t *testing.T) {
	if err := durable.Dir(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := durable.Replace(filepath.Join(t.TempDir(), "none", "file"), 0o600, say("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestWhatACrashLeftIsWrittenOver(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".file.part"), []byte("half of something long"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "file")
	if err := durable.Replace(path, 0o600, say("new")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if left, _ := os.ReadDir(dir); err != nil || string(got) != "new" || len(left) != 1 {
		t.Errorf("%q, %v; %v", got, err, left)
	}
}

// TestManyWhoWriteOneNameTakeTurns: each file is somebody's, and one alone makes
// what must be new.
func TestManyWhoWriteOneNameTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var all sync.WaitGroup
	var made atomic.Int64
	for i := range 20 {
		all.Go(func() {
			text := strings.Repeat(string(rune('a'+i)), 1000+i)
			if err := durable.Replace(path, 0o600, say(text)); err != nil {
				t.Error(err)
			}
			if got, err := os.ReadFile(path); err != nil || len(got) < 1000 || strings.Trim(string(got), string(got[:1])) != "" {
				t.Errorf("%d bytes of several, %v", len(got), err)
			}
			err := durable.Create(path+".once", 0o600, say(text))
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("%d made the one file", n)
	}
}
