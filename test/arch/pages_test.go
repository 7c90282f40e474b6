package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPagesThatCodeNamesExist: a comment that sends the reader to a page that
// is not there is worse than none.
func TestPagesThatCodeNamesExist(t *testing.T) {
	page := regexp.MustCompile(`docs/[A-Za-z0-9/_-]+\.md`)
	named := 0
	for _, p := range list(t, nil) {
		for _, name := range p.GoFiles {
			for _, m := range page.FindAll(read(t, filepath.Join(p.Dir, name)), -1) {
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

// TestLinksOfPagesLeadSomewhere: to a file that is there, and to a heading that
// it has.
func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	followed := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllSubmatch(read(t, page), -1) {
			to := string(m[1])
			if strings.Contains(to, "://") {
				continue
			}
			followed++
			path, anchor, _ := strings.Cut(to, "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, to, err)
				continue
			}
			if anchor != "" && !slices.Contains(headings(read(t, target)), anchor) {
				t.Errorf("%s links to %s: there is no such heading", page, to)
			}
		}
	}
	if followed < 50 {
		t.Errorf("only %d links were found", followed)
	}
}

// pages are the ones that people read.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/decisions/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// headings are the anchors that a page has, as they are made of its headings.
func headings(page []byte) (anchors []string) {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.Lines(string(page)) {
		if text, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			name := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), "")
			anchors = append(anchors, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return anchors
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
