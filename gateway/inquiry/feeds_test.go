package inquiry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger/feed"
)

// A file that cannot be read is told beside its feed, and hides no other.
func TestABadFileOfOneFeedHidesNone(t *testing.T) {
	dir, log := t.TempDir(), history(t, 3, 20)
	for name, text := range map[string]string{
		"a.position": "12x", "b.position": "5\n", "c.position": "6\n",
		"b.aside/01a22c37-1fda-7001-bb8b-3e0653c744cb.json": "{half",
		"b.aside/01a22c37-1fda-7001-bb8b-3e0653c744cc.json": `{"id":"01a22c37-1fda-7001-bb8b-3e0653c744cc","position":3,"body":{}}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := inquiry.Feeds(t.Context(), log, feed.Files(dir))
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if !strings.Contains(all[0].Error, "a.position") || !strings.Contains(all[1].Error, "744cb.json") || all[1].Poisoned != 1 || all[2].Error != "" || all[2].Position != 6 {
		t.Errorf("%+v", all)
	}
	if aside, err := inquiry.Poisoned(t.Context(), feed.Files(dir), "b"); err != nil || len(aside) != 1 {
		t.Errorf("%+v, %v", aside, err)
	}
	if n, err := inquiry.Requeue(t.Context(), feed.Files(dir), "b"); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
}
