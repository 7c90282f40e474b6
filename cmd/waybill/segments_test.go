package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/checkpoint"
)

// segmented is a gateway that served until its ledger had some segments of 100
// positions, and ended. where is its ledger, "" for the embedded one.
func segmented(t *testing.T, where string) (g *gatewayProcess, first string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "waybill.yaml")
	write(t, file, "ledger: {segment: 100}\naccounts:\n  - {id: a, provider: openai-compatible, base_url: '"+upstream(t)+"', api_key: ka}\n")
	env := []string{"WAYBILL_CONFIG=" + file}
	if where != "" {
		env = append(env, "WAYBILL_LEDGER="+where)
	}
	g = startServe(t, dir, []string{"serve"}, env...)
	for range 170 {
		a := g.chat("m1")
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if first == "" {
			first = a.id()
		}
	}
	if code := g.stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	return g, first
}

func bothLedgers(t *testing.T, test func(t *testing.T, where string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "") })
	t.Run("postgres", func(t *testing.T) { test(t, database(t)) })
}

func TestWhatIsArchivedIsStillAsked(t *testing.T) {
	bothLedgers(t, func(t *testing.T, where string) {
		g, first := segmented(t, where)
		whole := g.ask(exitFine, "export")
		story := g.ask(exitFine, "why", first)
		accounts := g.ask(exitFine, "accounts", "--position", "50", "--json")
		dir := filepath.Join(g.dir, "old")
		if out := g.ask(exitFine, "ledger", "archive", "--to", "250", "-o", dir); strings.Count(out, "archived in") != 2 {
			t.Fatal(out)
		}
		same := func(when string, archives ...string) {
			t.Helper()
			for _, c := range []struct {
				want string
				args []string
			}{{whole, []string{"export"}}, {story, []string{"why", first}}, {accounts, []string{"accounts", "--position", "50", "--json"}}} {
				if out := g.ask(exitFine, append(c.args, archives...)...); out != c.want {
					t.Errorf("%s: %v differs:\n%.300s\nwas\n%.300s", when, c.args, out, c.want)
				}
			}
			if out := g.ask(exitFine, append([]string{"verify"}, archives...)...); !strings.Contains(out, "The ledger holds") {
				t.Errorf("%s: %s", when, out)
			}
			g.ask(exitFine, append([]string{"rebuild", "--check"}, archives...)...)
		}
		same("archived")
		copied := filepath.Join(g.dir, "copy.db")
		export := filepath.Join(g.dir, "all.zst")
		g.ask(exitFine, "export", "-o", export)
		g.ask(exitFine, "import", export, "--ledger", copied)
		if out := g.ask(exitFine, "export", "--ledger", copied); out != whole {
			t.Error("a copy made across archives differs")
		}
		moved := filepath.Join(g.dir, "moved")
		if err := os.Rename(dir, moved); err != nil {
			t.Fatal(err)
		}
		same("moved", "--archive", moved)
		withoutArchives(t, g, moved)
	})
}

// withoutArchives looks at a ledger whose archives are not at hand.
func withoutArchives(t *testing.T, g *gatewayProcess, moved string) {
	t.Helper()
	notes, err := filepath.Glob(filepath.Join(moved, "*.note"))
	if err != nil || len(notes) != 2 {
		t.Fatalf("%v %v", notes, err)
	}
	if out := g.ask(exitFine, "verify", "--checkpoint", notes[1]); !strings.Contains(out, "What is live holds") || !strings.Contains(out, "still holds the checkpoint at 200") {
		t.Error(out)
	}
	if out := g.ask(exitCheckFailed, "export"); !strings.Contains(out, "not at hand") {
		t.Error(out)
	}
	g.ask(exitFine, "export", "--from", "201")
	var parts []struct{ State, Missing string }
	if err := json.Unmarshal([]byte(g.ask(exitFine, "ledger", "segments", "--json")), &parts); err != nil || len(parts) < 4 ||
		parts[0].State != "archived" || parts[0].Missing == "" || parts[2].State != "whole" || parts[len(parts)-1].State != "live" {
		t.Errorf("%+v %v", parts, err)
	}
	again := startServe(t, g.dir, []string{"serve"}, g.env...) // a snapshot stands for what is not at hand
	if a := again.chat("m1"); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	var l struct {
		Segments []struct{ State string }
		Size     struct{ Events, Bytes int64 }
	}
	if a := call(t, "GET", again.admin+"/api/v1/ledger", ""); json.Unmarshal([]byte(a.body), &l) != nil || l.Segments[0].State != "archived" || l.Size.Events < 50 || l.Size.Bytes == 0 {
		t.Errorf("%s", a.body)
	}
	if a := call(t, "GET", again.admin+"/metrics", ""); !strings.Contains(a.body, "waybill_ledger_archived_position 200") {
		t.Errorf("%s", a.body)
	}
	again.stop()
}

func TestArchiveNeedsToKnowHowFar(t *testing.T) {
	g, _ := segmented(t, "")
	g.ask(exitUsage, "ledger", "archive")
	g.ask(exitUsage, "ledger", "archive", "--to", "5", "--before", "1h")
	g.ask(exitUsage, "ledger")
	for want, args := range map[string][]string{
		"the oldest whole segment, 1 to 100, ended at 2":                  {"--before", "24h"},
		"the oldest whole segment is 1 to 100, which goes beyond --to 50": {"--to", "50"},
	} {
		if out := g.ask(exitFine, append([]string{"ledger", "archive"}, args...)...); !strings.Contains(out, "Nothing was archived: "+want) {
			t.Errorf("%v: %s", args, out)
		}
	}
	bare := filepath.Join(g.dir, "bare.db")
	g.ask(exitFine, "export", "-o", filepath.Join(g.dir, "all.jsonl"))
	g.ask(exitFine, "import", filepath.Join(g.dir, "all.jsonl"), "--ledger", bare)
	if out := g.ask(exitFine, "ledger", "archive", "--to", "200", "--ledger", bare); !strings.Contains(out, "segment 1 to 100 may leave, but no gateway could start without it: there is no snapshot yet") {
		t.Error(out)
	}
	if out := g.ask(exitFine, "ledger", "segments", "--ledger", bare); !strings.Contains(out, "ended") || strings.Contains(out, "whole") {
		t.Errorf("what no snapshot follows: %s", out)
	}
	if out := g.ask(exitFine, "ledger", "segments"); !strings.Contains(out, "whole") || strings.Contains(out, " - ") {
		t.Errorf("when a whole one ended: %s", out)
	}
	g.ask(exitLedger, "ledger", "archive", "--to", "100", "--ledger", filepath.Join(g.dir, "nowhere.db"))
}

func TestRetentionArchivesWhatIsTooOld(t *testing.T) {
	g, _ := segmented(t, "")
	raw, err := openStore(t.Context(), filepath.Join(g.dir, "var", "waybill.db"), config.Environment{}, config.Ledger{})
	if err != nil {
		t.Fatal(err)
	}
	keep := config.Ledger{Retain: 48 * time.Hour, ArchiveDir: filepath.Join(g.dir, "old"), Segment: 100}
	store := whole(raw, keep.ArchiveDir)
	log := ledger.Open(store)
	defer log.Close()
	key, err := checkpoint.OpenKey(filepath.Join(g.dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	r := &retention{keep: keep, store: store, log: log, key: key, now: func() time.Time { return now }, out: slog.New(slog.DiscardHandler)}
	anchor := func() uint64 {
		r.look(t.Context())
		l, err := log.Layout(context.Background(), 100)
		if err != nil || r.state().Error != "" {
			t.Fatalf("%v %+v", err, r.state())
		}
		return uint64(l.Anchor().Position)
	}
	if at := anchor(); at != 0 {
		t.Errorf("young events left, up to %d", at)
	}
	now = now.Add(49 * time.Hour)
	if at := anchor(); at < 200 || at%100 != 0 {
		t.Errorf("old events stay: up to %d are archived", at)
	}
	if note := r.note(t.Context()); !strings.Contains(note, "kept for 48h") {
		t.Error(note)
	}
}
