package feed_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/ledger/feed"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// told are options whose log can be read.
func told(dir string, s *sink) (feed.Options, *journal) {
	o, lines := options(dir, s), &journal{}
	o.Logger = slog.New(slog.NewTextHandler(lines, nil))
	return o, lines
}

// has says whether exactly these positions were delivered, in order.
func (s *sink) has(want ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Equal(s.got, want)
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAMessageThatCannotBeReadStopsNothingAndIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{}
		o, lines := told(dir, s)
		write(t, "{half", dir, "f.aside", "01a22c37-1fda-7001-bb8b-3e0653c744cb.json")
		write(t, `{"id":"01a22c37-1fda-7001-bb8b-3e0653c744cc","position":7,"body":{}}`, dir, "f.aside", "01a22c37-1fda-7001-bb8b-3e0653c744cc.requeued")
		_, stop := start(t, l, o)
		defer stop()
		add(t, l, retired())
		time.Sleep(5500 * time.Millisecond)
		add(t, l, retired())
		synctest.Wait()
		if !s.has("", "1", "2") {
			t.Errorf("delivered %v", s.got)
		}
		if n := strings.Count(lines.String(), "unreadable"); n != 1 {
			t.Errorf("told %d times: %s", n, lines)
		}
	})
}

func TestBooksThatCannotBeKeptAreWaitedFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "feeds")
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{}
		o, lines := told(dir, s)
		_, stop := start(t, l, o)
		synctest.Wait()
		if err := os.Rename(dir, dir+".x"); err != nil {
			t.Fatal(err)
		}
		write(t, "no directory", dir)
		add(t, l, retired())
		time.Sleep(3300 * time.Millisecond) // between two looks
		synctest.Wait()
		add(t, l, retired())
		time.Sleep(3300 * time.Millisecond) // between two looks
		synctest.Wait()
		if !s.has("1", "2") {
			t.Errorf("delivered %v beside its books", s.got)
		}
		if !strings.Contains(lines.String(), "level=WARN") {
			t.Errorf("the log says %q", lines)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir+".x", dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3300 * time.Millisecond) // between two looks
		synctest.Wait()
		if at, err := os.ReadFile(filepath.Join(dir, "f.position")); err != nil || string(at) != "2\n" {
			t.Errorf("the place is %q, %v", at, err)
		}
		if !strings.Contains(lines.String(), "work again") {
			t.Errorf("the log says %q", lines)
		}
		stop()
	})
}

func TestAMessageThatCannotBePutAsideIsNotLost(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{refuse: func(int) bool { return true }}
		o, _ := told(dir, s)
		o.Attempts = 1
		_, stop := start(t, l, o)
		synctest.Wait()
		aside := filepath.Join(dir, "f.aside")
		write(t, "no directory", aside)
		add(t, l, retired())
		time.Sleep(3300 * time.Millisecond) // between two looks
		synctest.Wait()
		if err := os.Remove(aside); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got, err := o.Book.Aside(t.Context()); err != nil || len(got) != 1 || got[0].Position != 1 {
			t.Errorf("put aside: %+v, %v", got, err)
		}
		stop()
	})
}

func TestAPlaceBeyondTheLedgerStopsTheFeedAndIsSaidAtOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, s := openLog(t), &sink{}
		o, lines := told(dir, s)
		place(t, dir, "99")
		add(t, l, retired())
		r, stop := start(t, l, o)
		r.Tell(feed.Letter{ID: writer, Type: "alert", Body: []byte(`{}`)})
		synctest.Wait()
		if got := lines.String(); !strings.Contains(got, "a feed stopped") || !strings.Contains(got, "99") || !strings.Contains(got, "the ledger ends at 1") {
			t.Errorf("the log says %q", got)
		}
		if len(s.msgs) != 1 || s.msgs[0].Metadata[feed.MetaType] != "alert" {
			t.Errorf("what no event tells of: %v", s.msgs)
		}
		stop()
	})
}
