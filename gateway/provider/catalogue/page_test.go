package catalogue

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/providers.md")

func TestTheReferenceOfProvidersIsFresh(t *testing.T) {
	const path = "../../../docs/providers.md"
	if *update {
		if err := os.WriteFile(path, []byte(Page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.ReadFile(path)
	if err != nil || string(held) != Page() {
		t.Fatalf("docs/providers.md is stale (%v): run `make docs`", err)
	}
	for _, p := range All() {
		for _, r := range p.Rules {
			if !strings.Contains(string(held), "`"+r.ID+"`") {
				t.Errorf("the page does not name %s", r.ID)
			}
		}
	}
}
