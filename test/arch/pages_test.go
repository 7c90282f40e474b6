package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestPagesThatCodeNamesExist: a comment that sends the reader to a page that
// is not there is worse than none.
func TestPagesThatCodeNamesExist(t *testing.T) {
	page := regexp.MustCompile(`docs/[A-Za-z0-9/_-]+\.md`)
	named := 0
	for _, p := range list(t, nil) {
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page.FindAll(text, -1) {
				named++
				if _, err := os.Stat(filepath.Join("../..", string(m))); err != nil {
					t.Errorf("%s/%s names %s: %v", p.ImportPath, name, m, err)
				}
			}
		}
	}
	if named == 0 {
		t.Error("no page was named at all")
	}
}
