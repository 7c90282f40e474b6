package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/test/played"
)

var update = flag.Bool("update", false, "write the golden outputs anew")

// asked is a ledger on disk with an incident in it, and what a shell needs to
// ask about it.
type asked struct {
	t     *testing.T
	path  string
	env   []string
	story played.Story
	gw    *played.Gateway
}

// incident plays on a file; the gateway stays open when live.
func incident(t *testing.T, live bool) *asked {
	t.Helper()
	a := &asked{t: t, path: filepath.Join(t.TempDir(), "waybill.db")}
	store, err := sqlite.Open(a.path)
	if err != nil {
		t.Fatal(err)
	}
	a.gw = played.Open(t, store, played.NewClock(), "a", "b", "c")
	a.story = a.gw.Incident()
	a.env = []string{"WAYBILL_LEDGER=sqlite:" + a.path, "WAYBILL_ADMIN_LISTEN=127.0.0.1:1"}
	if live {
		t.Cleanup(a.gw.Close)
	} else {
		a.gw.Close()
	}
	return a
}

// sh runs a command and wants an exit code.
func (a *asked) sh(want int, args ...string) string {
	a.t.Helper()
	code, out, errs := shell(a.t, a.env, args...)
	if code != want {
		a.t.Fatalf("waybill %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, errs)
	}
	return out
}

func (a *asked) json(into any, args ...string) {
	a.t.Helper()
	out := a.sh(exitFine, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		a.t.Fatalf("waybill %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

var (
	uuids   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	digests = regexp.MustCompile(`\b[0-9a-f]{8,64}\b`)
	sizes   = regexp.MustCompile(`(admission|pins|requests) +\d+ +\d+ +DIGEST`)
)

// steady takes out what differs from run to run.
func steady(out string) string {
	out = uuids.ReplaceAllString(out, "REQUEST")
	out = digests.ReplaceAllString(out, "DIGEST")
	return sizes.ReplaceAllString(out, "$1 VERSION BYTES DIGEST")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n--- got\n%s--- want\n%s", file, got, want)
	}
}

func TestWhatTheShellShows(t *testing.T) {
	a := incident(t, false)
	for name, args := range map[string][]string{
		"why of the last trouble": {"why"},
		"why of a failover":       {"why", a.story.FailedOver.String()},
		"requests":                {"requests"},
		"requests refused":        {"requests", "--outcome", "refused"},
		"events of an account":    {"events", "--account", "b"},
		"verify":                  {"verify"},
		"rebuild with check":      {"rebuild", "--check"},
	} {
		t.Run(name, func(t *testing.T) {
			out := a.sh(exitFine, args...)
			if strings.Contains(out, "\x1b[") {
				t.Error("colour beside a terminal")
			}
			golden(t, name, steady(out))
		})
	}
}

func TestJSONIsOneObjectOrOneArray(t *testing.T) {
	a := incident(t, false)
	var object map[string]any
	a.json(&object, "why")
	for _, name := range []string{"request", "outcome", "status", "code", "decisions", "attempts", "replay"} {
		if _, ok := object[name]; !ok {
			t.Errorf("why --json has no %q", name)
		}
	}
	object = nil
	a.json(&object, "verify")
	for _, name := range []string{"ok", "positions", "head", "decisions", "rederived", "skipped_versions", "fault"} {
		if _, ok := object[name]; !ok {
			t.Errorf("verify --json has no %q", name)
		}
	}
	object = nil
	a.json(&object, "rebuild", "--check")
	if object["ok"] != true || object["position"] == nil || len(object["comparisons"].([]any)) == 0 {
		t.Errorf("rebuild --check --json: %v", object)
	}
	object = nil
	a.json(&object, "why", "--account", "b")
	if object["state"] == nil || len(object["sentences"].([]any)) == 0 || len(object["verdict"].(map[string]any)["evidence"].([]any)) == 0 {
		t.Errorf("why --account --json: %v", object)
	}
	if out := a.sh(exitFine, "why", "--account", "b"); !strings.Contains(out, "payment  account") {
		t.Errorf("why --account: %s", out)
	}
	for _, args := range [][]string{{"accounts"}, {"requests"}, {"events"}, {"events", "--limit", "3"}, {"events", "--account", "nobody"}} {
		var list []map[string]any
		a.json(&list, args...)
		if len(list) == 0 && len(args) < 3 {
			t.Errorf("%v: empty", args)
		}
	}
}

func TestACheckpointFindsACutTail(t *testing.T) {
	a := incident(t, false)
	var v struct {
		Head struct {
			Position int
			Hash     string
		}
	}
	a.json(&v, "verify")
	seen := fmt.Sprintf("%d:%s", v.Head.Position, v.Head.Hash)
	if out := a.sh(exitFine, "verify", "--checkpoint", seen); !strings.Contains(out, "still holds the checkpoint") {
		t.Errorf("the whole ledger: %s", out)
	}
	dir := t.TempDir()
	short := filepath.Join(dir, "short.db")
	a.sh(exitFine, "export", "--to", "30", "-o", filepath.Join(dir, "short.jsonl"))
	a.sh(exitFine, "import", filepath.Join(dir, "short.jsonl"), "--ledger", short)
	a.sh(exitFine, "verify", "--ledger", short)
	if out := a.sh(exitCheckFailed, "verify", "--ledger", short, "--checkpoint", seen); !strings.Contains(out, "position 31") {
		t.Errorf("a cut tail: %s", out)
	}
	other := incident(t, false)
	if out := other.sh(exitCheckFailed, "verify", "--checkpoint", seen); !strings.Contains(out, "rewritten") {
		t.Errorf("another ledger: %s", out)
	}
	a.sh(exitUsage, "verify", "--checkpoint", "31")
}

func TestEventsByLimitAndPosition(t *testing.T) {
	a := incident(t, false)
	var all, last, first []struct{ Position int }
	a.json(&all, "events")
	a.json(&last, "events", "--limit", "4")
	a.json(&first, "events", "--limit", "4", "--after", "2")
	if n := len(all); all[n-1].Position != n || last[0].Position != n-3 || last[3].Position != n || first[0].Position != 3 || first[3].Position != 6 {
		t.Fatalf("%d events; last four %v; four after 2 %v", n, last, first)
	}
}

func TestReadingWorksBesideAWriterAndOnACopy(t *testing.T) {
	a := incident(t, true)
	a.sh(exitFine, "verify")
	a.sh(exitFine, "why")
	a.gw.Ask(played.Answer{})
	a.sh(exitFine, "rebuild", "--check")

	closed := incident(t, false)
	b, err := os.ReadFile(closed.path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "elsewhere.db")
	if err := os.WriteFile(copied, b, 0o400); err != nil {
		t.Fatal(err)
	}
	closed.sh(exitFine, "verify", "--ledger", copied)
	closed.sh(exitFine, "why", "--ledger", "sqlite:"+copied)
	if files, err := os.ReadDir(filepath.Dir(copied)); err != nil || len(files) != 1 {
		t.Fatalf("reading left files behind: %v %v", files, err)
	}
}

func TestWhereThereIsNoLedgerNothingIsCreated(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "none.db")
	for _, args := range [][]string{{"accounts"}, {"why"}, {"why", "--account", "a"}, {"requests"}, {"events"}, {"events", "--follow"}, {"verify"}, {"rebuild"}, {"rebuild", "--check"}} {
		code, _, errs := shell(t, []string{"WAYBILL_LEDGER=sqlite:" + path}, args...)
		if code != exitLedger || !strings.Contains(errs, path) {
			t.Errorf("%v: exit %d, %q", args, code, errs)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Fatalf("something was created: %v %v", files, err)
	}
}

func TestWrongArgumentsAreExitTwo(t *testing.T) {
	a := incident(t, false)
	for _, args := range [][]string{{"why", "nonsense"}, {"why", "--model", "m1"}, {"accounts", "--at", "yesterday"}, {"accounts", "--at", "2100-01-01"}, {"accounts", "--position", "0"}, {"accounts", "--at", "14:00", "--position", "3"},
		{"requests", "--outcome", "lost"}, {"events", "--type", "attempt.rooted"}, {"events", "--type", ","}, {"requests", "--since", "14:00", "--until", "13:00"}, {"events", "--request", "x"}, {"verify", "--ledger", "mysql://x"}} {
		if code, _, errs := shell(t, a.env, args...); code != exitUsage || errs == "" {
			t.Errorf("%v: exit %d, %q", args, code, errs)
		}
	}
}

func TestRebuildComparesWithARunningGateway(t *testing.T) {
	a := incident(t, true)
	h := admin.New(admin.Options{Engine: a.gw.Engine, Log: a.gw.Log, Token: "secret"})
	srv := httptest.NewServer(h)
	defer srv.Close()
	a.env = append(a.env, "WAYBILL_ADMIN_LISTEN="+strings.TrimPrefix(srv.URL, "http://"), "WAYBILL_ADMIN_TOKEN=secret")
	var out struct {
		OK          bool
		Comparisons []struct {
			With      string
			Identical bool
		}
	}
	a.json(&out, "rebuild", "--check")
	if !out.OK || len(out.Comparisons) != 2 || out.Comparisons[0].With != "gateway" || !out.Comparisons[0].Identical {
		t.Fatalf("%+v", out)
	}
}

func TestAnExportImportedElsewhereAnswersTheSame(t *testing.T) {
	a := incident(t, false)
	dir := t.TempDir()
	for _, file := range []string{"w.jsonl.zst", "w.jsonl"} {
		var moved struct {
			To   int
			Head struct{ Hash string }
		}
		a.json(&moved, "export", "-o", filepath.Join(dir, file))
		second := "sqlite:" + filepath.Join(dir, file+".db")
		a.sh(exitFine, "import", filepath.Join(dir, file), "--ledger", second)
		for _, args := range [][]string{{"why"}, {"requests"}, {"events"}, {"verify", "--json"}, {"export"}} {
			if got, want := a.sh(exitFine, append(args, "--ledger", second)...), a.sh(exitFine, args...); got != want {
				t.Errorf("%s: %v differs:\n%s\n%s", file, args, got, want)
			}
		}
		if out := a.sh(exitFine, "import", filepath.Join(dir, file), "--ledger", second); !strings.Contains(out, fmt.Sprintf("%d of them were there already", moved.To)) {
			t.Errorf("a second import: %s", out)
		}
	}
	a.sh(exitFine, "export", "--from", "10", "-o", filepath.Join(dir, "tail.zst"))
	if code, _, errs := shell(t, a.env, "import", os.DevNull, "--ledger", filepath.Join(dir, "none.db")); code != exitCheckFailed || !strings.Contains(errs, "no event") {
		t.Errorf("nothing: exit %d, %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a ledger was made of nothing: %v", err)
	}
	if code, _, errs := shell(t, a.env, "import", filepath.Join(dir, "tail.zst"), "--ledger", filepath.Join(dir, "new.db")); code != exitCheckFailed || !strings.Contains(errs, "missing") {
		t.Errorf("a gap: exit %d %s", code, errs)
	}
	other := incident(t, false)
	other.sh(exitFine, "export", "-o", filepath.Join(dir, "other.zst"))
	if code, _, errs := shell(t, a.env, "import", filepath.Join(dir, "other.zst"), "--ledger", filepath.Join(dir, "w.jsonl.db")); code != exitCheckFailed || !strings.Contains(errs, "differ") {
		t.Errorf("a fork: exit %d %s", code, errs)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*.part")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestReplayShowsBothWorlds(t *testing.T) {
	a := incident(t, false)
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("policy:\n  when_exhausted: refuse\n  reading_max_age: 240h\n  park_cap: 240h\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	golden(t, "replay", steady(a.sh(exitFine, "replay", "--policy", file)))
	var r map[string]any
	a.json(&r, "replay", "--policy", file)
	for _, name := range []string{"requests", "recorded", "proposed", "differences", "accounts", "examples"} {
		if _, ok := r[name]; !ok {
			t.Errorf("replay --json has no %q", name)
		}
	}
	a.sh(exitUsage, "replay")
	a.sh(exitUsage, "replay", "--policy", file+".none")
	if err := os.WriteFile(file, []byte("park_cup: 5m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.sh(exitUsage, "replay", "--policy", file)
}

func TestEventsFollowsARunningGateway(t *testing.T) {
	a := incident(t, true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"events", "--follow", "--json", "--type", "attempt.succeeded", "--after", "30"}, a.env, strings.NewReader(""), in, io.Discard)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	for range 3 {
		id := a.gw.Ask(played.Answer{})
		if !lines.Scan() {
			t.Fatalf("following ended: %v", lines.Err())
		}
		var e struct{ Request, Type string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Request != id.String() || e.Type != "attempt.succeeded" {
			t.Fatalf("%s: want the success of %s (%v)", lines.Text(), id, err)
		}
	}
	cancel()
	if got := <-code; got != exitFine {
		t.Fatalf("interrupted: exit %d", got)
	}
}

// TestB130: what a request adds to the ledger is bounded, whatever its body was.
func Test_B130_a_request_with_two_attempts_grows_the_ledger_by_less_than_4_KiB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waybill.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	g := played.Open(t, store, played.NewClock(), "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	size := func() int64 {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return fi.Size()
	}
	before := size()
	const n = 300
	for range n {
		g.Ask(played.Answer{Class: 5, Status: 529}, played.Answer{})
	}
	g.Close() // the log is folded into the file
	if per := (size() - before) / n; per >= 4096 {
		t.Fatalf("%d bytes a request", per)
	} else {
		t.Logf("%d bytes a request of two attempts over ten accounts", per)
	}
}
