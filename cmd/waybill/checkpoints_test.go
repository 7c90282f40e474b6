package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// served is a gateway that served some requests and ended.
func served(t *testing.T, n int) *gatewayProcess {
	t.Helper()
	g := startServe(t, t.TempDir(), []string{"sandbox"})
	for range n {
		if a := g.chat("m"); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	return g
}

// ask runs a command and wants an exit code.
func (g *gatewayProcess) ask(want int, args ...string) string {
	g.t.Helper()
	code, out, errs := g.shell(args...)
	if code != want {
		g.t.Fatalf("waybill %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, errs)
	}
	return out + errs
}

func (g *gatewayProcess) notes() string {
	g.t.Helper()
	lists, err := filepath.Glob(filepath.Join(g.dir, "var", "checkpoints", "*.notes"))
	if err != nil || len(lists) != 1 {
		g.t.Fatalf("%v %v", lists, err)
	}
	return lists[0]
}

func TestSignedCheckpointsFindARewriteAndACutTail(t *testing.T) {
	g, other := served(t, 3), served(t, 9)
	for _, p := range []*gatewayProcess{g, other} {
		if code := p.stop(); code != 0 {
			t.Fatalf("exit %d", code)
		}
	}
	list, key := g.notes(), strings.TrimSpace(g.ask(exitFine, "keys", "checkpoint"))
	for _, more := range [][]string{nil, {"--key", key}} {
		if out := g.ask(exitFine, append([]string{"verify", "--checkpoint", list}, more...)...); !strings.Contains(out, "still holds the checkpoint") {
			t.Errorf("the whole ledger: %s", out)
		}
	}
	short, export := filepath.Join(g.dir, "short.db"), filepath.Join(g.dir, "short.jsonl")
	g.ask(exitFine, "export", "--to", "8", "-o", export)
	g.ask(exitFine, "import", export, "--ledger", short)
	g.ask(exitFine, "verify", "--ledger", short)
	if out := g.ask(exitCheckFailed, "verify", "--ledger", short, "--checkpoint", list); !strings.Contains(out, "position 9") {
		t.Errorf("a cut tail: %s", out)
	}
	if out := other.ask(exitCheckFailed, "verify", "--checkpoint", list, "--key", key); !strings.Contains(out, "this is ledger") {
		t.Errorf("another ledger: %s", out)
	}
	foreign := strings.TrimSpace(other.ask(exitFine, "keys", "checkpoint"))
	if out := g.ask(exitCheckFailed, "verify", "--checkpoint", list, "--key", foreign); !strings.Contains(out, "signed by another key; give its public key with --key") {
		t.Errorf("a foreign key: %s", out)
	}
	g.ask(exitUsage, "verify", "--checkpoint", list, "--key", "no key")
	if out := g.ask(exitUsage, "verify", "--checkpoint", "5:deadbeef"); !strings.Contains(out, "64 hex digits") {
		t.Errorf("a short hash: %s", out)
	}
	g.ask(exitUsage, "verify", "--checkpoint", export, "--key", key)
}

func TestTheAPIShowsTheLatestCheckpoint(t *testing.T) {
	g := served(t, 1)
	note := call(t, "GET", g.admin+"/api/v1/ledger/checkpoint", "")
	if note.status != 200 || !strings.HasPrefix(note.body, "waybill-ledger/") {
		t.Fatalf("%d %s", note.status, note.body)
	}
	var l struct{ Checkpoint struct{ Position int } }
	if a := call(t, "GET", g.admin+"/api/v1/ledger", ""); json.Unmarshal([]byte(a.body), &l) != nil || l.Checkpoint.Position == 0 {
		t.Errorf("%s", a.body)
	}
	if a := call(t, "GET", g.admin+"/readyz", ""); !strings.Contains(a.body, `"checkpoint"`) {
		t.Errorf("%s", a.body)
	}
	file := filepath.Join(t.TempDir(), "one.note")
	write(t, file, note.body)
	if out := g.ask(exitFine, "verify", "--checkpoint", file); !strings.Contains(out, "still holds") {
		t.Error(out)
	}
}
