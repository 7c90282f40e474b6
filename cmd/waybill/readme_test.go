package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// snippets are the fenced blocks of a language in a page.
func snippets(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	return out
}

// curl is one curl command line of the README.
type curl struct {
	url, data string
	headers   []string
}

func parseCurl(line string) (c curl) {
	for _, m := range regexp.MustCompile(`(-[a-zA-Z]+)? ?('[^']*'|http\S+)`).FindAllStringSubmatch(line, -1) {
		value := strings.Trim(m[2], "'")
		switch {
		case m[1] == "-H":
			c.headers = append(c.headers, value)
		case m[1] == "-d":
			c.data = value
		case strings.HasPrefix(value, "http"):
			c.url = value
		}
	}
	return c
}

func TestTheREADMEsCommandsWork(t *testing.T) {
	g := startServe(t, t.TempDir(), []string{"serve"})
	curls, refused := 0, 0
	for _, block := range snippets(t, "../../README.md", "sh") {
		for line := range strings.SplitSeq(strings.ReplaceAll(block, "\\\n", " "), "\n") {
			switch {
			case strings.HasPrefix(line, "curl "):
				c := parseCurl(line)
				curls++
				a := call(t, "POST", strings.Replace(c.url, "http://127.0.0.1:8787", g.data, 1), c.data, c.headers...)
				if strings.Contains(c.data, `"dry"`) {
					refused++
					if a.status != 429 {
						t.Errorf("%s: %d\n%s", line, a.status, a.body)
					}
				} else if a.status != 200 {
					t.Errorf("%s: %d\n%s", line, a.status, a.body)
				}
			case strings.HasPrefix(line, "bin/waybill "):
				if code, out, errs := g.shell(strings.Fields(strings.TrimPrefix(line, "bin/waybill "))...); code != 0 {
					t.Errorf("%s: exit %d\n%s%s", line, code, out, errs)
				}
			}
		}
	}
	if curls < 4 || refused != 1 {
		t.Errorf("only %d curls, %d of them for a refusal", curls, refused)
	}
}

func TestTheREADMEsConfigurationIsFine(t *testing.T) {
	blocks := snippets(t, "../../README.md", "yaml")
	if len(blocks) != 1 {
		t.Fatalf("%d blocks", len(blocks))
	}
	file := filepath.Join(t.TempDir(), "waybill.yaml")
	write(t, file, blocks[0])
	if code, out, errs := shell(t, nil, "config", "check", "--config", file); code != 0 || !strings.Contains(out, "3 accounts, 1 model, 1 client") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

func TestTheREADMEsFirstCommandsAreTheTwoThatSetUp(t *testing.T) {
	first := strings.Split(strings.TrimSpace(snippets(t, "../../README.md", "sh")[0]), "\n")
	if len(first) != 2 || !strings.HasPrefix(first[0], "make run") || !strings.HasPrefix(first[1], "make test") {
		t.Errorf("%q", first)
	}
}

func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

func TestEveryDependencyOfTheBinaryHasALine(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) < 10 {
		t.Fatal("the test knows no dependencies")
	}
	for _, d := range info.Deps {
		direct := regexp.MustCompile(`(?m)^\t` + regexp.QuoteMeta(d.Path) + ` v\S+$`).Match(mod)
		if direct && !strings.Contains(string(page), "`"+d.Path+"`") {
			t.Errorf("%s has no line in docs/dependencies.md", d.Path)
		}
	}
}
